"""atds.tensorflow.ATDSDataset: the lines of tensorflow-io's with another import."""

import tensorflow as tf

import atds
from atds.tensorflow import ATDSDataset, DenseFeature, SparseFeature, VarlenFeature

from .protocol import serve
from .tensorflow import epoch_of

if __name__ == "__main__":
    epoch = epoch_of(ATDSDataset, dense=DenseFeature, sparse=SparseFeature, varlen=VarlenFeature)
    serve({"atds (Python)": atds.__version__, "tensorflow": tf.__version__}, epoch)
