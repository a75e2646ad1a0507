"""Pages of the documentation whose tables are drawn from records.

A page has a pair of comments where a table belongs, and what stands between them is replaced.
"""

import re
from collections.abc import Mapping


def filled(text: str, drawn: Mapping[str, str], mark: str = "drawn") -> str:
    """A page with its tables; a name that is not drawn is a KeyError.

    A page that two scripts draw has comments with another `mark` for each; what has another one is left as it is.
    """
    return place(mark).sub(lambda found: f"<!-- {mark}: {found[1]} -->\n\n{drawn[found[1]]}\n\n<!-- end -->", text)


def place(mark: str) -> re.Pattern[str]:
    """Where tables with this mark stand in a page."""
    return re.compile(rf"<!-- {mark}: (.+?) -->\n.*?<!-- end -->", re.DOTALL)


PLACE = place("drawn")
"""Where a table stands in a page, if nothing else is said."""
