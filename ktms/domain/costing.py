"""What one attempt cost, and what its tokens would have cost in the cloud.

The price is that of the moment the attempt began, out of the snapshot that its call was placed with. Compared is
with the first cloud target of the model that answered, else of the models that the call could have had. Not here:
the arithmetic of one price (`access/pricing.py`), booking (engine).
"""

from dataclasses import dataclass

from ktms.domain.access.pricing import PriceTable
from ktms.domain.conversation.usage import Usage
from ktms.domain.ids import VendorModel, VendorName
from ktms.domain.snapshot import CloudTarget, Model


@dataclass(slots=True)
class Cost:
    """In pico-dollars; `cloud_picos` None: nothing to compare with. Not frozen: one is made per attempt."""

    picos: int
    cloud_picos: int | None
    priced: bool


def first_cloud(model: Model, others: tuple[Model, ...]) -> CloudTarget | None:
    """Give the cloud target that a saving is measured by."""
    if model.cloud:
        return model.cloud[0]
    return next((other.cloud[0] for other in others if other.cloud), None)


def cost_of(
    prices: PriceTable,
    usage: Usage,
    target: tuple[VendorName, VendorModel],
    cloud: CloudTarget | None,
    began_wall: float,
) -> Cost:
    """Give what an attempt cost. A target without a price costs 0."""
    price = prices.at(*target, began_wall)
    picos = 0 if price is None else price.cost_picos(usage)
    cloud_price = None if cloud is None else prices.at(cloud.vendor.name, cloud.vendor_model, began_wall)
    cloud_picos = None if cloud_price is None else cloud_price.cost_picos(usage)
    return Cost(picos, cloud_picos, priced=price is not None)
