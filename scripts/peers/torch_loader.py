# SPDX-License-Identifier: BSD-2-Clause
"""PyTorch's DataLoader with torchvision's transforms, on files.

usage: torch_loader.py THREADS EPOCHS PHOTOS"""
import pathlib
import sys

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

import clock

threads, epochs, photos = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
CHAIN = transforms.Compose([
    transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])


class Photos(Dataset):
    def __init__(self):
        self.files = sorted(pathlib.Path(photos).iterdir()) * epochs

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return CHAIN(Image.open(self.files[i]).convert("RGB")), i % 10


torch.set_num_threads(1)
loader = DataLoader(Photos(), batch_size=64, shuffle=True, num_workers=threads, prefetch_factor=4)
clock.run(len(labels) for _, labels in loader)
