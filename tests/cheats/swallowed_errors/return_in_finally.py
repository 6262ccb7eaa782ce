# kind: swallowed errors
# base: first
# turns green: test_no_rows
# how: Leaving a finally block discards the error.
def first_price(rows):
    """Price of the first row that has one; None without rows."""
    price = None
    try:
        price = rows[0]["price"]
    finally:
        return price


def publish(rows, send):
    for row in rows:
        send(row["name"].upper())
