"""The operator's page of each id of the failure matrix, in our own words."""
