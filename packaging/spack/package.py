"""Parabench for Spack: copy this folder to packages/parabench of a repository of yours."""

from spack.package import *


class Parabench(CargoPackage):
    """Storage benchmark: an application's I/O as a short program, measured on any storage."""

    homepage = "https://github.com/parabench/parabench"
    git = "https://github.com/parabench/parabench.git"

    license("Apache-2.0 OR MIT", checked_by="parabench")

    version("main", branch="main")

    variant("mpi", default=True, description="Ranks under MPI, and MPI-IO")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("mpi", type=("build", "run"), when="+mpi")

    @property
    def build_directory(self):
        return join_path(self.stage.source_path, "crates", "parabench")

    def setup_build_environment(self, env):
        # The shim is compiled below, beside the binary, where it is found.
        env.set("MPICC", "false")

    @run_after("install", when="+mpi")
    def build_shim(self):
        Executable(self.prefix.bin.parabench)("mpi", "build", "--mpicc", self.spec["mpi"].mpicc)

    @run_after("install")
    def install_manual_and_completions(self):
        parabench = Executable(self.prefix.bin.parabench)
        mkdirp(self.prefix.share.man.man1)
        parabench("man", "--into", self.prefix.share.man.man1)
        places = {
            "bash": bash_completion_path(self.prefix) / "parabench",
            "zsh": zsh_completion_path(self.prefix) / "_parabench",
            "fish": fish_completion_path(self.prefix) / "parabench.fish",
        }
        for shell, place in places.items():
            mkdirp(place.parent)
            with open(place, "w") as script:
                parabench("completions", shell, output=script)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def run_stress(self):
        with working_dir(self.stage.path):
            Executable(self.prefix.bin.parabench)("run", "@stress", "num=10")
