"""The planted bugs: each alters one decision or one await, as a tired engineer would.

None of them is known to any checker: they are found by what they break. Sources: mistakes that gateways were
reported for, and those that the rules of the engine exist to prevent. Not here: those of what lies beside calls
(`beside.py`).
"""

from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.quotas import MemoryQuotas
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.exchange import Exchange
from ktms.app.gateway import Gateway
from ktms.domain.access.key_window import usable
from ktms.domain.access.quota_refusals import _obstacles
from ktms.domain.capacity.node_health import NodeHealth
from ktms.domain.placement import Placement
from ktms.domain.routing.breaker import Breaker
from ktms.engine.admit import Admission
from ktms.engine.attempt import Attempts
from ktms.engine.budget import Budget, accounts_of
from ktms.engine.condition import Condition
from ktms.engine.fleet import Fleet
from ktms.engine.node_walk import NodeWalk
from ktms.engine.permit import Permit
from ktms.engine.relay import Relay
from ktms.engine.settle import Bookkeeper
from ktms.engine.sweep import Sweeper
from ktms.engine.switchboard import Switchboard
from ktms.engine.targets import Targets
from ktms.engine.waiting import Queues
from ktms.engine.walk import Walk
from sim.planted.beside import BESIDE
from sim.planted.bug import Bug

PORTS = "explore-ports"
WIRE = "explore"
STORM = "storm"
FLEET = "fleet"

PLANTED = (
    Bug(
        "slot-kept-by-leaver",
        "a slot is given back only when the call ended by itself",
        Walk._ask_node,
        "finally:\n        nodes.give_back(",
        "except AssertionError:\n        raise\n    nodes.give_back(",
        PORTS,
    ),
    Bug(
        "one-attempt-too-many",
        "the bound on attempts is compared one too high",
        Walk._spent,
        "self._story.dialled >= dialled_max",
        "self._story.dialled > dialled_max",
        PORTS,
    ),
    Bug(
        "restart-after-text",
        "a stream that an error broke after something visible goes on to the next target",
        Attempts._judge_stream,
        "if relay.visible:",
        "if relay.visible and relay.overflowed:",
        STORM,
    ),
    Bug(
        "broken-stream-ends-well",
        "an interrupted stream ends with the end mark",
        Attempts._judge_stream,
        "stream.fail(cause)",
        "stream.finish()",
        PORTS,
    ),
    Bug(
        "cut-counts-as-done",
        "a clean end of the connection counts, with or without a finish reason",
        Attempts._judge_stream,
        "failure is None and observer.finished and",
        "failure is None and",
        STORM,
    ),
    Bug(
        "leavers-connection-stays-open",
        "the connection of a client's call that was cancelled is let go of and not closed",
        Exchange._wait,
        "self._part(abort=True)",
        "self._part()",
        WIRE,
    ),
    Bug(
        "leaver-not-billed",
        "an attempt whose client left is not booked",
        Attempts.ask,
        "self._books.attempt(trail, target, shot, ended_at)",
        "_ = shot.status is AttemptStatus.CANCELLED or self._books.attempt(trail, target, shot, ended_at)",
        PORTS,
    ),
    Bug(
        "asked-twice",
        "a failed send is repeated at once, whatever it was",
        Attempts._exchange,
        "answer = await self._upstream.send(request)\n    except",
        "try:\n            answer = await self._upstream.send(request)\n        except UpstreamFailed:\n"
        "            answer = await self._upstream.send(request)\n    except",
        PORTS,
    ),
    Bug(
        "breaker-one-late",
        "the breaker opens at the sixth failure in a row",
        Breaker.failed,
        "self._failures >= FAILURES_MAX",
        "self._failures > FAILURES_MAX",
        STORM,
    ),
    Bug(
        "stampede-of-trials",
        "while a trial is under way all others pass too",
        Breaker.admits,
        "if self.state is State.HALF_OPEN or self.opens_in(now) > 0:",
        "if self.state is State.HALF_OPEN:\n        return True\n    if self.opens_in(now) > 0:",
        "FV6-ports",
        seeds_max=20,
    ),
    Bug(
        "retry-after-unheard",
        "a key that was told to wait is used again at once",
        Walk._rest,
        "condition.rest(key.id, rest_s(shot.retry_after_s))",
        "pass",
        PORTS,
    ),
    Bug(
        "rest-by-wall-clock",
        "a rest ends by the wall clock",
        Condition.rest,
        "self._clock.monotonic() + seconds",
        "self._clock.wall() + seconds",
        PORTS,
    ),
    Bug(
        "cloud-though-nodes-only",
        "a placement without cloud plans the cloud all the same",
        Placement.allows_cloud,
        "return self is not Placement.NODES_ONLY",
        "return True",
        PORTS,
    ),
    Bug(
        "outage-is-unauthorised",
        "a key that cannot be verified counts as a bad one",
        Admission.admit,
        "raise CallFailed(_AWAY)",
        "raise CallFailed(_INVALID)",
        PORTS,
    ),
    Bug(
        "revoked-key-works",
        "whether a key was revoked is not looked at",
        usable,
        "not key.revoked and ",
        "",
        PORTS,
    ),
    Bug(
        "first-words-lost",
        "the event that makes an answer visible is not handed on",
        Relay._show,
        "self._held.append(ready)\n",
        "pass\n",
        PORTS,
    ),
    Bug(
        "no-last-word",
        "calls still running at the end of a drain are cut without a word",
        Gateway.stop,
        "self._drain.cut()\n",
        "pass\n",
        "fg1-sigterm",
        seeds_max=20,
    ),
    Bug(
        "record-by-code",
        "a stream that ended with an error is recorded with the status it would have had",
        Bookkeeper.call,
        "status = 200 if isinstance(result, Streamed) else self._status_of(cause)",
        "status = self._status_of(cause)",
        PORTS,
    ),
    Bug(
        "failures-billed-twice",
        "an attempt that failed is booked twice",
        Bookkeeper.attempt,
        "self._book(trail, event)\n",
        "self._book(trail, event)\n"
        "    if shot.status is AttemptStatus.FAILED:\n"
        "        self._book(trail, event)\n",
        PORTS,
    ),
    Bug(
        "deadline-of-attempt-only",
        "the last attempt may run beyond the deadline of its call",
        Walk._in_time,
        "if left_s >= target.timers.total_s:",
        "if left_s >= 0:",
        "FV9",
        seeds_max=60,
    ),
    Bug(
        "key-in-the-log",
        "a debug line with the client's key",
        Switchboard.handle,
        "parts.telemetry.call_started()\n",
        "parts.telemetry.call_started()\n    parts.telemetry.event('debug', 'call', token=call.token)\n",
        PORTS,
    ),
    Bug(
        "dial-leaks-its-place",
        "the place in the pool is given back only when dialling failed by itself",
        HttpUpstream._connect,
        "except BaseException:",
        "except OSError:",
        WIRE,
    ),
    Bug(
        "lease-not-renewed",
        "leases are taken and given back, and never renewed",
        Sweeper._renew,
        "await self.renew()",
        "True",
        FLEET,
    ),
    Bug(
        "one-slot-too-many",
        "a slot more is asked for than the node has",
        NodeWalk._take,
        "SlotWish(seat.state.node.name, seat.state.slots)",
        "SlotWish(seat.state.node.name, seat.state.slots + 1)",
        FLEET,
    ),
    Bug(
        "place-in-line-leaks",
        "whoever leaves the queue goes on counting as a waiter",
        Queues.joined,
        "self._room.leave(ModelName(desk.model), name)",
        "pass",
        FLEET,
    ),
    Bug(
        "cold-node-asked",
        "a call is sent to a node that has to load the model first",
        NodeWalk._choose,
        "return desk.selector.choose(self._ask, self._refused, warm=True)",
        "return choice",
        FLEET,
    ),
    Bug(
        "draining-unheard",
        "what a node says about its leaving is not taken over",
        Fleet._take_facts,
        "state.drains(says=report.draining)",
        "pass",
        FLEET,
    ),
    Bug(
        "any-model-will-do",
        "the model that an answer names is not compared with the one that was asked",
        Targets.node,
        "expects=expected_names(seat)",
        "expects=()",
        FLEET,
    ),
    Bug(
        "healed-by-a-list",
        "a node that lists its models counts as healthy again",
        NodeHealth.note,
        "elif evidence in _NO_NEWS:\n        self._misses = 0",
        "elif evidence in _NO_NEWS:\n        self._heal(now)",
        FLEET,
    ),
    Bug(
        "leaver-not-settled",
        "what was reserved is settled only when the call ended by itself",
        Permit.__aexit__,
        "if self._wish is not None or self._trail.uncounted:\n",
        "if not (kind and issubclass(kind, asyncio.CancelledError)):\n",
        PORTS,
    ),
    Bug(
        "settled-twice",
        "what a call used is charged twice",
        MemoryQuotas.settle,
        "self._accounts[account.id] = counters\n",
        "part = (held or swept)[account.id]\n"
        "        self._accounts[account.id] = arithmetic.charge(counters, part, used, charged, now_us)\n",
        PORTS,
    ),
    Bug(
        "refused-and-charged",
        "a call that is refused counts all the same",
        MemoryQuotas._reserve,
        "if refused is not None:\n",
        "if refused is not None:\n"
        "        for account, share, its in zip(wish.accounts, shares, before, strict=True):\n"
        "            self._accounts[account.id], _ = arithmetic.reserve(its, share, micros, now_us)\n",
        PORTS,
    ),
    Bug(
        "team-not-reserved",
        "only the key is charged for its calls",
        accounts_of,
        "for account in both if",
        "for account in both[:1] if",
        PORTS,
    ),
    Bug(
        "closed-passes",
        "who must be counted passes uncounted",
        Budget._do_without,
        "raise CallFailed(_UNCOUNTABLE)",
        "pass",
        FLEET,
    ),
    Bug(
        "lost-not-declared",
        "what is under way is not declared again to a store that has forgotten it",
        MemoryQuotaStore.beat,
        "self._declare(self._under_way.values())\n",
        "pass\n",
        FLEET,
    ),
    Bug(
        "told-half-the-wait",
        "a refusal tells half of the time after which there is room",
        _obstacles,
        "yield limit, _ms(over_us)",
        "yield limit, _ms(over_us // 2)",
        PORTS,
    ),
    *BESIDE,
)
