"""The other defences, one file each."""
