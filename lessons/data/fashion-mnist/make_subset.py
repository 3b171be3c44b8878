#!/usr/bin/env python3
"""Cut the subset of Fashion-MNIST that comes with Headroom out of the whole data set.

Takes the first images of every class, in their original order, so that the classes are equally frequent
and no image is chosen by hand. Needs nothing beside Python. The whole set is at
https://github.com/zalandoresearch/fashion-mnist and in the Debian package dataset-fashion-mnist:

    python3 make_subset.py /usr/share/datasets/fashion-mnist .
"""

import argparse
import gzip
import struct
from pathlib import Path

CLASSES = 10
IMAGES_MAGIC = 0x00000803
LABELS_MAGIC = 0x00000801


def read(folder, part):
    """Return the images (bytes each), the labels and the (rows, columns) of one part."""
    images = gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    magic, count, rows, columns = struct.unpack(">4I", images[:16])
    labels_magic, labels_count = struct.unpack(">2I", labels[:8])
    if (magic, labels_magic) != (IMAGES_MAGIC, LABELS_MAGIC):
        raise SystemExit(f"{folder}: {part}: not a pair of IDX files")
    size = rows * columns
    if count != labels_count or len(images) != 16 + count * size or len(labels) != 8 + count:
        raise SystemExit(f"{folder}: {part}: sizes do not agree")
    return [images[16 + i * size : 16 + (i + 1) * size] for i in range(count)], labels[8:], (rows, columns)


def first_of_each(labels, per_class):
    """Return the indices of the first `per_class` samples of every class, in their original order."""
    taken = [0] * CLASSES
    chosen = []
    for index, label in enumerate(labels):
        if taken[label] < per_class:
            taken[label] += 1
            chosen.append(index)
    if min(taken) < per_class:
        raise SystemExit(f"a class has only {min(taken)} samples, {per_class} are asked for")
    return chosen


def write(path, content):
    """Write gzip without a time or a name in it: the same input gives the same bytes."""
    path.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))
    print(f"{path}: {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with the four files of the whole set")
    parser.add_argument("target", type=Path, help="folder to write the four files of the subset to")
    parser.add_argument("--train-per-class", type=int, default=900)
    parser.add_argument("--test-per-class", type=int, default=100)
    options = parser.parse_args()
    for part, per_class in (("train", options.train_per_class), ("t10k", options.test_per_class)):
        images, labels, (rows, columns) = read(options.source, part)
        chosen = first_of_each(labels, per_class)
        body = b"".join(images[i] for i in chosen)
        header = struct.pack(">4I", IMAGES_MAGIC, len(chosen), rows, columns)
        write(options.target / f"{part}-images-idx3-ubyte.gz", header + body)
        header = struct.pack(">2I", LABELS_MAGIC, len(chosen))
        write(options.target / f"{part}-labels-idx1-ubyte.gz", header + bytes(labels[i] for i in chosen))


if __name__ == "__main__":
    main()
