# SPDX-License-Identifier: GPL-2.0
"""The host processes that are the guests: how each kind is started and ended."""
import ctypes
import glob
import os
import resource
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
LINKS = 2       # between the two hosts: the one under test, and the rig's own
libc = ctypes.CDLL(None)


def die_with_parent():
    """In a child: end when vm ends, however it ends, and leave no core file."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(argv, **kw):
    """A process with a group of its own, so that all of it can be killed."""
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True,
                            preexec_fn=die_with_parent, **kw)


def kill(*processes):
    """Each with its group, all before any is waited for."""
    for p in processes:
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    for p in processes:
        p.wait()


def cables(hosts, kind):
    """LINKS pairs of connected sockets; ends[n] are host n's."""
    ends = [[] for _ in range(hosts)]
    for _ in range(LINKS if hosts == 2 else 0):
        for n, end in enumerate(socket.socketpair(socket.AF_UNIX, kind)):
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                end.setsockopt(socket.SOL_SOCKET, option, 4 << 20)
            ends[n].append(end)
    return ends


def cpu_mhz():
    with open('/proc/cpuinfo') as f:
        return next((l.split()[3] for l in f if l.startswith('cpu MHz')), '')


class Uml:
    """User-Mode Linux: each guest is an ordinary process, its root the machine's own."""
    memory = '1G'
    boot_limit = 90
    boots = 1
    own_time = False    # whether a guest's second is not the machine's

    def __init__(self, kernel_dir, boot, smp):
        self.boot = boot        # more arguments for the kernel
        self.kernel = os.path.join(kernel_dir, 'linux')
        self.smp = smp

    def start(self, run, hosts, memory):
        env = dict(os.environ, TMPDIR=self.memory_dir(run))
        guests = []
        ends = cables(hosts, socket.SOCK_SEQPACKET)
        for i, mine in enumerate(ends):
            n = i + 1
            argv = [self.kernel, f'mem={memory}', f'uml_dir={run}/h{n}/', f'umid=h{n}',
                    'root=/dev/root', 'rootfstype=hostfs', 'rootflags=/', 'ro',
                    f'init={run}/guest/init', f'rig_n={n}', 'rig_kind=uml',
                    f'rig_run={run}', f'rig_mhz={cpu_mhz()}', 'con=null', 'con0=null,fd:1',
                    'quiet', 'panic=-1', 'dummy.numdummies=0', 'kunit.enable=1', *self.boot]
            argv += [f'vec{j}:transport=fd,fd={s.fileno()},mac=52:54:00:0{9 - j}:00:0{n},mtu=4200'
                     for j, s in enumerate(mine)]
            if self.smp:
                argv += ['ncpus=2', 'seccomp=on']
            with open(f'{run}/h{n}/console', 'w') as console:
                guests.append(start(argv, stdout=console, stderr=console, env=env,
                                    pass_fds=[s.fileno() for s in mine]))
        for mine in ends:
            for s in mine:
                s.close()
        return guests

    @staticmethod
    def memory_dir(run):
        """Guest memory is a mapped file: in memory if that may be executed."""
        try:
            shm = os.statvfs('/dev/shm')
            if not shm.f_flag & os.ST_NOEXEC and shm.f_bavail * shm.f_frsize > 2 << 30:
                return '/dev/shm'
        except OSError:
            pass
        return run


class Qemu:
    """A stock kernel in an emulated (TCG) or, where that works, virtual (KVM) machine."""
    memory = '2G'
    boot_limit = 240
    boots = 3       # the emulator can trip over a kernel that patches itself while booting
    trial_limit = 20

    def __init__(self, emulator, kernel_dir, boot, smp, icount, cache, tsc):
        self.boot = boot
        self.emulator = emulator
        self.kernel = (glob.glob(f'{kernel_dir}/boot/vmlinuz-*') +
                       glob.glob(f'{kernel_dir}/lib/modules/*/vmlinuz'))[0]
        self.initramfs = f'{kernel_dir}/initramfs'
        self.modules = glob.glob(f'{kernel_dir}/lib/modules/*')[0]
        self.smp, self.icount, self.cache = 1 if icount else smp, icount, cache
        self.tsc = tsc          # kHz of this machine's, '' if it has none
        self.own_time = icount

    def start(self, run, hosts, memory):
        guests = []
        ends = cables(hosts, socket.SOCK_STREAM)
        accel = self.accelerator()
        # The emulator hands its own counter through: not to be measured by a guest
        # that is interrupted meanwhile.
        tsc = f'tsc_early_khz={self.tsc} ' if self.tsc and not self.icount else ''
        for i, mine in enumerate(ends):
            n = i + 1
            argv = self.machine(accel, memory) + [
                '-name', f'h{n}', '-serial', f'file:{run}/h{n}/console', '-append',
                'console=ttyS0 panic=-1 oops=panic quiet net.ifnames=0 mitigations=off '
                f'nowatchdog tsc=reliable {tsc}dummy.numdummies=0 rig_kind=qemu '
                + ' '.join([f'rig_n={n} rig_run={run} rig_modules={self.modules}', *self.boot]),
                '-device', 'virtio-rng-pci',
                # A device with memory, for tests that send from there.
                '-object', 'memory-backend-memfd,id=bar,size=2M',
                '-device', 'ivshmem-plain,memdev=bar']
            for tag, path, mode in (('root', '/', ',readonly=on,multidevs=remap'),
                                    ('run', run, '')):
                argv += ['-fsdev', f'local,id={tag},path={path},security_model=none{mode}',
                         '-device', f'virtio-9p-pci,fsdev={tag},mount_tag={tag}']
            for j, s in enumerate(mine):
                argv += ['-netdev', f'socket,id=n{j},fd={s.fileno()}', '-device',
                         f'virtio-net-pci,netdev=n{j},mac=52:54:00:0{9 - j}:00:0{n},host_mtu=9000']
            open(f'{run}/h{n}/console', 'w').close()
            with open(f'{run}/h{n}/qemu', 'w') as log:
                guests.append(start(argv, stdout=log, stderr=log,
                                    pass_fds=[s.fileno() for s in mine]))
        for mine in ends:
            for s in mine:
                s.close()
        return guests

    def machine(self, accel, memory):
        # Without la57=off a TLB miss costs more; with erms or fsrm the kernel copies
        # by "rep movsb", which the emulator runs byte by byte.
        cpu = 'host' if accel == 'kvm' else 'max,la57=off,erms=off,fsrm=off'
        argv = [self.emulator, '-accel', accel, '-cpu', cpu, '-smp', str(self.smp),
                '-m', memory, '-machine', 'q35', '-nodefaults', '-no-user-config',
                '-display', 'none', '-no-reboot', '-kernel', self.kernel,
                '-initrd', self.initramfs]
        if self.icount:
            argv += ['-icount', 'shift=1']
        return argv

    def accelerator(self):
        if self.icount:
            return 'tcg'
        if os.access('/dev/kvm', os.R_OK | os.W_OK) and self.kvm_works():
            return 'kvm'
        return 'tcg,thread=' + ('single' if self.smp == 1 else 'multi')

    def kvm_works(self):
        """Boot as far as the initramfs, once in the life of this machine's kernel."""
        with open('/proc/sys/kernel/random/boot_id') as f:
            verdict = f'{self.cache}/kvm-{f.read().strip()}'
        if not os.path.exists(verdict):
            passed = self.trial()
            for old in glob.glob(f'{self.cache}/kvm-*'):
                os.unlink(old)
            with open(f'{verdict}.{os.getpid()}', 'w') as f:
                f.write('works' if passed else 'fails')
            os.rename(f.name, verdict)
        with open(verdict) as f:
            return f.read() == 'works'

    def trial(self):
        p = start(self.machine('kvm', '512M') + [
            '-serial', 'stdio', '-append', 'console=ttyS0 panic=-1 quiet rig_trial=1'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        os.set_blocking(p.stdout.fileno(), False)
        end, said = time.monotonic() + self.trial_limit, b''
        try:
            while time.monotonic() < end and b'rig-trial-passed' not in said:
                said += p.stdout.read() or b''
                if p.poll() is not None:
                    said += p.stdout.read() or b''
                    break
                time.sleep(0.1)
        finally:
            kill(p)
        return b'rig-trial-passed' in said
