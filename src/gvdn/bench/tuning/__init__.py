"""Tuning: the settings of a method are chosen by random search on validation data, with equal effort for every method.

`draws` says which settings are tried, `question` on which graph and nodes they are scored, `records` keeps the scores,
and `search` runs what is missing and names the best.
"""
