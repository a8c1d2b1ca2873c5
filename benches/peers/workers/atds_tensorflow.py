"""Ours in the place of tensorflow-io's ATDSDataset: the same lines with another import."""

import atds
import tensorflow as tf
from atds.tensorflow import ATDSDataset, DenseFeature, SparseFeature, VarlenFeature

from .protocol import serve
from .tensorflow import epoch_of

if __name__ == "__main__":
    epoch = epoch_of(ATDSDataset, dense=DenseFeature, sparse=SparseFeature, varlen=VarlenFeature)
    serve({"atds (Python)": atds.__version__, "tensorflow": tf.__version__}, epoch)
