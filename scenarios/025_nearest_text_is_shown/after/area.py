def area(w, h):
     return 1


def main():
    print(area(2, 3))


main()
