"""Find the first warning in a log and show what it is about."""


def first_warning(lines):
    for line in lines:
        if line.startswith("WARN"):
            return line


def subject(lines):
    """What the first warning is about, or ``nothing``."""
    line = first_warning(lines)
    return line.partition(": ")[2]


def main():
    print(subject(["INFO: started", "WARN: disk almost full", "WARN: fan"]))
    print(subject(["INFO: started", "INFO: stopped"]) or "nothing")


if __name__ == "__main__":
    main()
