"""The reproduction of the AAAI 2024 paper: its specs, its claims, one file per table or figure."""
