"""One large graph in parts: divided on the disk, trained on and asked part by part, on one machine or on many."""
