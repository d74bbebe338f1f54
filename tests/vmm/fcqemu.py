"""Firecracker's API with a machine behind it: the checker takes the requests, and QEMU emulates what they ask for. So the driver's configuration is
booted by a real kernel, with the drives, taps and vsock that it names. What QEMU cannot do the same way (snapshots) is refused."""

import ctypes
import json
import mmap
import os
import socket
import subprocess
import threading
import time

import fcchecker
import fcvsock
from fcrules import Refused

QEMU = "/usr/bin/qemu-system-x86_64"
FIXED = ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio", "-global", "virtio-mmio.force-legacy=false", "-accel", "tcg,thread=multi,tb-size=256",
         "-cpu", "max", "-machine", "microvm,pit=on,pic=on,rtc=on,acpi=on,isa-serial=on,memory-backend=mem"]
RDTSC = bytes.fromhex("0f3148c1e2204809d0c3")  # a function that returns the CPU's counter


def emulated():
    """What an emulated guest is told of its clocks, which it cannot measure: its counter is this CPU's own. Where code may be made executable."""
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(RDTSC)
        place = ctypes.c_char.from_buffer(page)
        count = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(place))
        begin, since = count(), time.monotonic_ns()
        time.sleep(0.05)
        khz = (count() - begin) * 1_000_000 // (time.monotonic_ns() - since)
        del place
    return f" tsc_early_khz={khz} lpj={khz * 4} no_timer_check"


class Machine(fcchecker.Machine):
    """One whose guest boots."""

    def arguments(self, vsock, control):
        config, boot = self.config["/machine-config"], self.config["/boot-source"]
        words = [*FIXED, "-smp", str(config["vcpu_count"]), "-m", f"{config['mem_size_mib']}M",
                 "-object", f"memory-backend-memfd,id=mem,size={config['mem_size_mib']}M,share=on",  # for the device that is not QEMU's own
                 "-kernel", boot["kernel_image_path"], "-initrd", boot["initrd_path"], "-append", boot["boot_args"] + os.environ["FCQEMU_WORDS"],
                 "-chardev", f"socket,id=control,fd={control}", "-mon", "chardev=control,mode=control"]
        for drive in (value for key, value in self.config.items() if key.startswith("/drives/")):
            only = "on" if drive["is_read_only"] else "off"
            words += ["-blockdev", f"driver=raw,node-name={drive['drive_id']},read-only={only},file.driver=file,file.filename={drive['path_on_host']},file.read-only={only},file.locking=off",
                      "-device", f"virtio-blk-device,drive={drive['drive_id']}"]
        if "/entropy" in self.config:
            words += ["-device", "virtio-rng-device"]
        words += ["-chardev", f"socket,id=vsock,fd={vsock}", "-device", "vhost-user-vsock-device,chardev=vsock"]
        for nic in self.interfaces():
            words += ["-netdev", f"tap,id={nic['iface_id']},fd={self.taps[nic['iface_id']]},vhost=off",
                      "-device", f"virtio-net-device,netdev={nic['iface_id']},mac={nic['guest_mac']}"]
        return words

    def wake_guest(self):
        (vsock, far_vsock), (self.control, far_control) = socket.socketpair(), socket.socketpair()
        self.device = fcvsock.Device(vsock)
        fds = [far_vsock.fileno(), far_control.fileno(), *self.taps.values()]
        child = subprocess.Popen([QEMU, *self.arguments(*fds[:2])], pass_fds=fds, stdin=subprocess.DEVNULL)
        for end in (far_vsock, far_control):
            end.close()
        self.answers = self.control.makefile("r")
        self.answers.readline()  # its greeting
        self.tell("qmp_capabilities")
        threading.Thread(target=lambda: os._exit(child.wait()), daemon=True).start()

    def tell(self, command):
        self.control.sendall(json.dumps({"execute": command}).encode() + b"\n")
        while "event" in (answer := json.loads(self.answers.readline())):
            pass
        if "return" not in answer:
            raise Refused(f"{command}: {answer}")

    def do_patch_vm(self, path, body):
        self.tell({"Paused": "stop", "Resumed": "cont"}[body["state"]])
        super().do_patch_vm(path, body)

    def do_put_snapshot_create(self, path, body):
        raise Refused("this stand-in saves no machines")

    do_put_snapshot_load = do_put_snapshot_create

    def lead_to(self, conn, port):
        self.device.connect(conn, port)


def main():
    fcchecker.main(Machine)
