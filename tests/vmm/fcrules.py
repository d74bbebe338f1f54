"""What Firecracker's published API description (1.17) says of requests: for each path and method which fields there
are, their types, which are required, and when it may be called. Written down as a table of our own, so that the
checker refuses what the description does not allow."""

import re

ANY_TIME, BEFORE, AFTER = "any time", "before the start", "after the start"


class Refused(Exception):
    """The request is answered by 400 and this fault_message."""


def _kind(wanted, what):
    def check(value, name):
        # bool is an int in Python, but not in JSON
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise Refused(f"{name}: invalid type, expected {what}")
    return check


text, boolean = _kind(str, "a string"), _kind(bool, "a boolean")


def mac(value, name):
    text(value, name)
    if not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", value):
        raise Refused(f"{name}: invalid MAC address {value}")


def number(low=0, high=2**63 - 1):
    def check(value, name):
        _kind(int, "an integer")(value, name)
        if not low <= value <= high:
            raise Refused(f"{name}: {value} is not in {low}..{high}")
    return check


def one_of(*words):
    def check(value, name):
        if value not in words or not isinstance(value, str):
            raise Refused(f"{name}: unknown variant, expected one of {', '.join(words)}")
    return check


def list_of(check_item):
    def check(value, name):
        _kind(list, "a sequence")(value, name)
        for item in value:
            check_item(item, name)
    return check


def record(required, optional=None):
    fields = {**required, **(optional or {})}

    def check(value, name):
        _kind(dict, "an object")(value, name)
        for key in value:
            if key not in fields:
                raise Refused(f"{name}: unknown field `{key}`, expected one of {', '.join(sorted(fields))}")
        for key in required:
            if key not in value:
                raise Refused(f"{name}: missing field `{key}`")
        for key, item in value.items():
            fields[key](item, key)
    check.required, check.fields = set(required), set(fields)
    return check


bucket = record({"refill_time": number(), "size": number()}, {"one_time_burst": number()})
limiter = record({}, {"bandwidth": bucket, "ops": bucket})
templates = one_of("C3", "T2", "T2S", "T2CL", "T2A", "V1N1", "None")
pages = one_of("None", "Transparent", "2M")


def vcpus(value, name):
    number(1, 32)(value, name)
    if value > 1 and value % 2:
        raise Refused(f"{name}: {value} is neither 1 nor even")


machine = {"vcpu_count": vcpus, "mem_size_mib": number(1)}
machine_more = {"smt": boolean, "track_dirty_pages": boolean, "cpu_template": templates, "huge_pages": pages}

RULES = {
    ("GET", "/"): (ANY_TIME, None),
    ("GET", "/version"): (ANY_TIME, None),
    ("GET", "/machine-config"): (ANY_TIME, None),
    ("PUT", "/machine-config"): (BEFORE, record(machine, machine_more)),
    ("PATCH", "/machine-config"): (BEFORE, record({}, {**machine, **machine_more})),
    ("PUT", "/boot-source"): (BEFORE, record({"kernel_image_path": text}, {"boot_args": text, "initrd_path": text})),
    ("PUT", "/drives/{drive_id}"): (BEFORE, record({"drive_id": text, "is_root_device": boolean}, {
        "partuuid": text, "cache_type": one_of("Unsafe", "Writeback"), "is_read_only": boolean, "path_on_host": text,
        "rate_limiter": limiter, "io_engine": one_of("Sync", "Async"), "socket": text})),
    ("PATCH", "/drives/{drive_id}"): (AFTER, record({"drive_id": text},
                                                    {"path_on_host": text, "rate_limiter": limiter})),
    ("PUT", "/network-interfaces/{iface_id}"): (BEFORE, record({"iface_id": text, "host_dev_name": text}, {
        "guest_mac": mac, "mtu": number(68, 65535), "rx_rate_limiter": limiter, "tx_rate_limiter": limiter})),
    ("PUT", "/vsock"): (BEFORE, record({"guest_cid": number(3), "uds_path": text}, {"vsock_id": text})),
    ("PUT", "/entropy"): (BEFORE, record({}, {"rate_limiter": limiter})),
    ("PUT", "/serial"): (BEFORE, record({}, {"serial_out_path": text, "rate_limiter": bucket})),
    ("PUT", "/logger"): (BEFORE, record({}, {
        "level": one_of("Error", "Warning", "Info", "Debug", "Trace", "Off"), "log_path": text, "show_level": boolean,
        "show_log_origin": boolean, "module": text})),
    ("PUT", "/actions"): (ANY_TIME, record({"action_type": one_of("FlushMetrics", "InstanceStart", "SendCtrlAltDel")})),
    ("PATCH", "/vm"): (AFTER, record({"state": one_of("Paused", "Resumed")})),
    ("PUT", "/snapshot/create"): (AFTER, record({"mem_file_path": text, "snapshot_path": text},
                                                {"snapshot_type": one_of("Full", "Diff")})),
    ("PUT", "/snapshot/load"): (BEFORE, record({"snapshot_path": text}, {
        "enable_diff_snapshots": boolean, "track_dirty_pages": boolean, "mem_file_path": text,
        "mem_backend": record({"backend_type": one_of("File", "Uffd"), "backend_path": text}), "resume_vm": boolean,
        "network_overrides": list_of(record({"iface_id": text, "host_dev_name": text})),
        "vsock_override": record({"uds_path": text}), "clock_realtime": boolean,
        "huge_pages": one_of("Snapshot", "None", "Transparent", "2M")})),
}


def find(method, path):
    """The row's path, when it may be called, its check, and the id in the path (or None)."""
    for (row_method, row_path), (when, check) in RULES.items():
        pattern = re.sub(r"\\\{\w+\\\}", r"([A-Za-z0-9_]+)", re.escape(row_path))
        found = re.fullmatch(pattern, path) if row_method == method else None
        if found:
            return row_path, when, check, found[1] if found.groups() else None
    raise Refused(f"Invalid request method and/or path: {method} {path}.")
