"""The measures page: how punctual, how quick and how full the plant has been in the last hour."""
