"""Zstandard compression: from the standard library since Python 3.14, before that from `backports.zstd`."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CompressionParameter = zstd.CompressionParameter
DecompressionParameter = zstd.DecompressionParameter
ZstdCompressor = zstd.ZstdCompressor
ZstdDecompressor = zstd.ZstdDecompressor
ZstdError = zstd.ZstdError
ZstdFile = zstd.ZstdFile
compress = zstd.compress
decompress = zstd.decompress
