def area(w, h):
    return w * h


def main():
    print(area(6, 7))


if __name__ == '__main__':
    main()
