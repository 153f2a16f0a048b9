"""The node agent: real recorders on one machine, behind the recorder contract."""
