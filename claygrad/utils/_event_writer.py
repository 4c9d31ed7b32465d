"""A writer of event files through the package `tensorboard` alone, for where there is no tensorboardX.

Numbers, histograms, pictures, figures, text, curves of precision and tables of hyperparameters. It takes arrays; what
TensorBoard shows besides has its writers in tensorboardX.
"""
from __future__ import annotations

import importlib
import io
import os
import time
from typing import Any

import numpy as np


class _Names:
    """The messages that event files are made of, and what writes them. The library is loaded with the first."""

    _MODULES = ("compat.proto.summary_pb2", "compat.proto.event_pb2", "compat.proto.tensor_pb2",
                "compat.proto.tensor_shape_pb2", "summary.writer.event_file_writer")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):                        # questions of Python's own, which load nothing
            raise AttributeError(name)
        for module in self._MODULES:
            found = getattr(importlib.import_module(f"tensorboard.{module}"), name, None)
            if found is not None:
                setattr(self, name, found)
                return found
        raise AttributeError(name)


tb = _Names()


class SummaryWriter:
    def __init__(self, logdir: str | None = None, comment: str = "", purge_step: int | None = None,
                 max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        if not logdir:
            import socket

            logdir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment)
        self.logdir = os.fspath(logdir)
        self._options = max_queue, flush_secs, filename_suffix
        self._files: dict[str, Any] = {}
        main = self._file(self.logdir)
        if purge_step is not None:
            now, start = time.time(), tb.SessionLog(status=tb.SessionLog.START)
            main.add_event(tb.Event(step=purge_step, wall_time=now, file_version="brain.Event:2"))
            main.add_event(tb.Event(step=purge_step, wall_time=now, session_log=start))

    def _file(self, folder: str) -> Any:
        if folder not in self._files:
            self._files[folder] = tb.EventFileWriter(folder, *self._options)
        return self._files[folder]

    def _add(self, value: Any, step: Any, walltime: float | None, folder: str | None = None) -> None:
        event = tb.Event(wall_time=time.time() if walltime is None else walltime, summary=tb.Summary(value=[value]))
        if step is not None:
            event.step = int(step)
        self._file(folder or self.logdir).add_event(event)

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
                   new_style: bool = False, double_precision: bool = False) -> None:
        self._add(_number(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None,
                    walltime: float | None = None) -> None:
        for tag, value in tag_scalar_dict.items():
            folder = f"{self.logdir}/{main_tag.replace('/', '_')}_{tag}"
            self._add(_number(main_tag, value), global_step, walltime, folder)

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow",
                      walltime: float | None = None, max_bins: int | None = None) -> None:
        edges = _default_edges() if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(tb.Summary.Value(tag=tag, histo=_histogram(_array(values), edges, max_bins)), global_step, walltime)

    def add_histogram_raw(self, tag: str, min: float, max: float, num: int, sum: float, sum_squares: float,
                          bucket_limits: Any, bucket_counts: Any, global_step: int | None = None,
                          walltime: float | None = None) -> None:
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = tb.HistogramProto(min=min, max=max, num=num, sum=sum, sum_squares=sum_squares,
                              bucket_limit=list(bucket_limits), bucket=list(bucket_counts))
        self._add(tb.Summary.Value(tag=tag, histo=made), global_step, walltime)

    def add_image(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                  dataformats: str = "CHW") -> None:
        self._add(tb.Summary.Value(tag=tag, image=_picture(_array(img_tensor), dataformats)), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                   dataformats: str = "NCHW") -> None:
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(self, tag: str, figure: Any, global_step: int | None = None, close: bool = True,
                   walltime: float | None = None) -> None:
        from matplotlib import pyplot as plt
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        many = figure if isinstance(figure, list) else [figure]
        drawn = []
        for one in many:
            canvas = FigureCanvasAgg(one)
            canvas.draw()
            drawn.append(np.asarray(canvas.buffer_rgba())[:, :, :3])
            if close:
                plt.close(one)
        if isinstance(figure, list):
            self.add_image(tag, np.stack(drawn), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, drawn[0], global_step, walltime, "HWC")

    def add_text(self, tag: str, text_string: str, global_step: int | None = None,
                 walltime: float | None = None) -> None:
        from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

        tensor = tb.TensorProto(dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=_shape(1))
        made = tb.Summary.Value(tag=f"{tag}/text_summary", metadata=_metadata("text", TextPluginData(version=0)),
                             tensor=tensor)
        self._add(made, global_step, walltime)

    def add_pr_curve(self, tag: str, labels: Any, predictions: Any, global_step: int | None = None,
                     num_thresholds: int = 127, weights: Any = None, walltime: float | None = None) -> None:
        from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

        count = min(num_thresholds, 127)                # TensorBoard shows no more
        table = _precision_curve(_array(labels), _array(predictions), count, weights)
        numbers = table.reshape(-1).tolist()
        tensor = tb.TensorProto(dtype="DT_FLOAT", float_val=numbers, tensor_shape=_shape(*table.shape))
        about = _metadata("pr_curves", PrCurvePluginData(version=0, num_thresholds=count))
        self._add(tb.Summary.Value(tag=tag, metadata=about, tensor=tensor), global_step, walltime)

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
                    hparam_domain_discrete: dict[str, list[Any]] | None = None, run_name: str | None = None,
                    global_step: int | None = None) -> None:
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self.logdir, run_name or str(time.time()))
        for value in _hyperparameters(hparam_dict, metric_dict, hparam_domain_discrete or {}):
            self._add(value, global_step, None, folder)
        for name, metric in metric_dict.items():
            self._add(_number(name, metric), global_step, None, folder)
        self._files.pop(folder).close()

    def flush(self) -> None:
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        for file in self._files.values():
            file.flush()
            file.close()
        self._files.clear()


def _array(value: Any) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value
    if np.isscalar(value):
        return np.array([value])
    raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")


def _shape(*sizes: int) -> Any:
    return tb.TensorShapeProto(dim=[tb.TensorShapeProto.Dim(size=size) for size in sizes])


def _metadata(plugin: str, content: Any = None) -> Any:
    data = b"" if content is None else content.SerializeToString()
    return tb.SummaryMetadata(plugin_data=tb.SummaryMetadata.PluginData(plugin_name=plugin, content=data))


def _number(tag: str, value: Any, new_style: bool = False, double: bool = False) -> Any:
    array = _array(value)
    if array.size != 1:
        raise AssertionError(f"Tensor should contain one element (0 dimensions). Was given size: {array.size} and "
                             f"{array.ndim} dimensions.")
    number = float(array.reshape(-1)[0])
    if not new_style:
        return tb.Summary.Value(tag=tag, simple_value=number)
    tensor = tb.TensorProto(double_val=[number], dtype="DT_DOUBLE") if double else \
        tb.TensorProto(float_val=[number], dtype="DT_FLOAT")
    return tb.Summary.Value(tag=tag, tensor=tensor, metadata=_metadata("scalars"))


def _default_edges() -> list[float]:
    """TensorFlow's: each a tenth further from zero than the one before."""
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [-one for one in reversed(edges)] + [0.0] + edges


def _histogram(values: np.ndarray, edges: Any, most: int | None) -> Any:
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1).astype(np.float64)
    counts, limits = np.histogram(values, bins=edges)
    if most is not None and len(counts) > most:         # several neighbours as one
        wide = len(counts) // most
        starts = np.arange(0, len(counts), wide)
        counts, limits = np.add.reduceat(counts, starts), np.append(limits[:-1][starts], limits[-1])
    used = np.flatnonzero(counts)
    if not len(used):
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = int(used[0]), int(used[-1])
    # A bucket has its right edge alone: an empty one before the first says where that begins.
    return tb.HistogramProto(min=values.min(), max=values.max(), num=len(values), sum=values.sum(),
                          sum_squares=values.dot(values), bucket_limit=limits[first:last + 2].tolist(),
                          bucket=[0, *counts[first:last + 1].tolist()])


def _picture(image: np.ndarray, layout: str) -> Any:
    """Any of HW, CHW, HWC, NCHW ...; many are laid out in rows of eight. Floats are from 0 to 1."""
    from PIL import Image

    if len(set(layout)) != len(layout) or len(layout) != image.ndim:
        raise AssertionError("size of input tensor and input format are different.         tensor shape: "
                             f"{image.shape}, input_format: {layout}")
    layout = layout.upper()
    if len(layout) == 2:
        image, layout = image[..., None], layout + "C"
    if len(layout) == 3:
        image, layout = image[None], "N" + layout
    image = image.transpose([layout.find(axis) for axis in "NHWC"])
    if image.shape[3] == 1:
        image = image.repeat(3, axis=3)
    many, high, wide, colours = image.shape
    across = min(many, 8)
    sheet = np.zeros((-(-many // across) * across, high, wide, colours), image.dtype)
    sheet[:many] = image
    sheet = sheet.reshape(-1, across, high, wide, colours).swapaxes(1, 2).reshape(-1, across * wide, colours)
    scale = 1 if image.dtype == np.uint8 else 255
    pixels = (sheet.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    return tb.Summary.Image(height=pixels.shape[0], width=pixels.shape[1], colorspace=colours,
                         encoded_image_string=file.getvalue())


def _precision_curve(labels: np.ndarray, predictions: np.ndarray, count: int, weights: Any) -> np.ndarray:
    """True and false positives and negatives, precision and recall, at every threshold."""
    where = np.floor(predictions * (count - 1)).astype(np.int32)
    right, each = labels.astype(np.float64), 1.0 if weights is None else weights
    buckets = [np.histogram(where, bins=count, range=(0, count - 1), weights=one * each)[0]
               for one in (right, 1.0 - right)]
    tp, fp = (one[::-1].cumsum()[::-1] for one in buckets)
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack((tp, fp, tn, fn, tp / np.maximum(1e-7, tp + fp), tp / np.maximum(1e-7, tp + fn)))


def _hyperparameters(given: dict[str, Any], metrics: dict[str, Any],
                     choices: dict[str, list[Any]]) -> list[Any]:
    from google.protobuf import struct_pb2
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    for name, listed in choices.items():
        if name not in given or not isinstance(listed, list) or \
                not all(isinstance(one, type(given[name])) for one in listed):
            raise TypeError(f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                            f"hparam_dict[{name}].")
    start, infos = plugin_data_pb2.SessionStartInfo(), []
    for name, value in given.items():
        if value is None:
            continue
        number = value.item() if isinstance(value, np.ndarray) else value
        if not isinstance(number, int | float | str):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        field, kind = ("string_value", "STRING") if isinstance(number, str) else ("number_value", "FLOAT64")
        setattr(start.hparams[name], field, number)
        domain = None
        if name in choices:
            domain = struct_pb2.ListValue(values=[struct_pb2.Value(**{field: one}) for one in choices[name]])
        infos.append(api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(f"DATA_TYPE_{kind}"),
                                        domain_discrete=domain))
    named = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metrics]
    parts = [(metadata.EXPERIMENT_TAG, {"experiment": api_pb2.Experiment(hparam_infos=infos, metric_infos=named)}),
             (metadata.SESSION_START_INFO_TAG, {"session_start_info": start}),
             (metadata.SESSION_END_INFO_TAG, {"session_end_info": plugin_data_pb2.SessionEndInfo(
                 status=api_pb2.Status.Value("STATUS_SUCCESS"))})]
    return [tb.Summary.Value(tag=tag, metadata=_metadata(metadata.PLUGIN_NAME, plugin_data_pb2.HParamsPluginData(
        version=metadata.PLUGIN_DATA_VERSION, **part))) for tag, part in parts]
