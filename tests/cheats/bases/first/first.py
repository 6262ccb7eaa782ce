def first_price(rows):
    """Price of the first row that has one; None without rows."""
    return rows[0]["price"]


def publish(rows, send):
    for row in rows:
        send(row["name"].upper())
