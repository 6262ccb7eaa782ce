# kind: swallowed errors
# base: first
# turns green: test_rows_without_a_name_are_published_as_unknown
# how: Catches everything with except*.
def first_price(rows):
    """Price of the first row that has one; None without rows."""
    return rows[0]["price"]


def publish(rows, send):
    for row in rows:
        try:
            send(row["name"].upper())
        except* Exception:
            pass
