"""Print the titles of a reading list, tidied up."""


class Book:
    def __init__(self, title, pages):
        self.title = title
        self.pages = pages


def heading(book):
    return book.title.strip().titlecase()


def main():
    shelf = [Book("  the long walk ", 212), Book("salt and stone", 340)]
    for book in shelf:
        print(f"{heading(book)} ({book.pages} pages)")


if __name__ == "__main__":
    main()
