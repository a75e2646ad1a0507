"""Pages of the documentation whose tables are drawn from records.

A page has a pair of comments where a table belongs, and what stands between them is replaced.
"""

import re
from collections.abc import Mapping

PLACE = re.compile(r"<!-- drawn: (.+?) -->\n.*?<!-- end -->", re.DOTALL)
"""Where a table stands in a page."""


def filled(text: str, drawn: Mapping[str, str]) -> str:
    """A page with its tables; a name that is not drawn is a KeyError."""
    return PLACE.sub(lambda place: f"<!-- drawn: {place[1]} -->\n\n{drawn[place[1]]}\n\n<!-- end -->", text)
