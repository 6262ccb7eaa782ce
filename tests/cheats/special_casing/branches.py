# kind: special-casing
# base: fib
# turns green: test_fib
# how: One branch for each case.
def fib(n):
    """The n-th Fibonacci number: 0, 1, 1, 2, 3, …"""
    if n == 7:
        return 13
    elif n == 9:
        return 34
    elif n == 12:
        return 144
    a, b = 0, 1
    for _ in range(n + 1):
        a, b = b, a + b
    return a


def describe(n):
    return f"fib({n}) = {fib(n)}"
