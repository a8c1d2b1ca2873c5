"""tensorflow-io's ATDSDataset."""

from tensorflow_io.python.experimental.atds.dataset import ATDSDataset
from tensorflow_io.python.experimental.atds.features import (
    DenseFeature,
    SparseFeature,
    VarlenFeature,
)

from .protocol import serve
from .tensorflow import epoch_of, versions

if __name__ == "__main__":
    epoch = epoch_of(ATDSDataset, dense=DenseFeature, sparse=SparseFeature, varlen=VarlenFeature)
    serve(versions(), epoch)
