"""Relatives in Ukrainian: nominative and accusative, whom they name, and the key of their name."""

from __future__ import annotations

_TABLE = """
дружина дружину wife spouse_name|чоловік чоловіка husband spouse_name|дівчина дівчину girlfriend partner_name
хлопець хлопця boyfriend partner_name|син сина son child_name|донька доньку daughter child_name
дочка дочку daughter child_name
сестра сестру sister sibling_name|брат брата brother sibling_name|мама маму mother mother_name
мати матір mother mother_name
тато тата father father_name|батько батька father father_name|бабуся бабусю grandmother grandmother_name
дідусь дідуся grandfather grandfather_name|подруга подругу friend friend_name|друг друга friend friend_name
"""

NOMINATIVE = {row.split()[0]: (row.split()[2], row.split()[3]) for row in _TABLE.strip().replace("\n", "|").split("|")}
"""A relative's word in the nominative to (subject, key of the name)."""

ACCUSATIVE = {row.split()[1]: (row.split()[2], row.split()[3]) for row in _TABLE.strip().replace("\n", "|").split("|")}
UNNAMED_SUBJECTS = frozenset({"friend"})
"""People of whom one usually has several: nothing is learned about one without a name."""
