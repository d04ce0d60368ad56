"""packaging/deploy: the Compose file and the Kubernetes manifest are what their own schemas want, keep what docs/scaling.md says of them, and the
processes that they describe run: as their user, with their command lines and variables, against a PostgreSQL server, and edit together.

    deployment.py

No container is started: what a container gives a process (paths, files with secrets, the user, a root that cannot be written) is made here for the
program of MCP_TEXT_EDITOR_BIN (default: the workspace's debug build). Wants root, Debian's postgresql and openssl, nginx, and
`pip install --require-hashes -r .ci/tools.txt` (check-jsonschema has Compose's schema, kubernetes-validate those of Kubernetes); what cannot be had
is told, and fails if REQUIRE_ALL is set.

Ends with `N passed, N failed`.
"""

from __future__ import annotations

import contextlib
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).resolve().parents[2]
DEPLOY = HERE / "packaging/deploy"
BINARY = os.environ.get("MCP_TEXT_EDITOR_BIN", str(HERE / "target/debug/mcp-text-editor"))
sys.path.insert(0, str(HERE / "tests/reliability"))

from harness import Report, skipped  # noqa: E402

#: The user of the image, and of the database here.
USER, DATABASE_USER = 65532, 65534
#: What a call may take, what its answer may take then (docs/scaling.md, "How it ends").
CALL_SECONDS, ANSWERS = 120, 10
TOKEN, PASSWORD = "token-of-the-deployment", "password-of-the-database"
PATIENCE = 30.0
PATCH = "patch_text_file_contents"


def run(*command: str | Path, **more: Any) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def seconds(text: str) -> int:
    return int(re.fullmatch(r"(\d+)s", text)[1])


# What the files say


def validated() -> list[str]:
    """Each by its own validator, without a network."""
    problems = []
    tools = Path(sys.executable).parent
    for command in ([tools / "kubernetes-validate", "--strict", DEPLOY / "kubernetes.yaml"],
                    [tools / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml"]):
        try:
            run(*command)
        except RuntimeError as error:
            problems.append(str(error))
    return problems


def validators_see(kubernetes: str, compose: str) -> list[str]:
    """A word that is spelled wrong is found: the validators do something."""
    problems = []
    tools = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as directory:
        for name, text, right, wrong, command in (
                ("kubernetes.yaml", kubernetes, "readinessProbe:", "readynessProbe:", [tools / "kubernetes-validate", "--strict"]),
                ("compose.yaml", compose, "cap_drop:", "cap-drop:", [tools / "check-jsonschema", "--builtin-schema", "vendor.compose-spec"])):
            file = Path(directory) / name
            file.write_text(text.replace(right, wrong, 1))
            if subprocess.run([*map(str, command), str(file)], capture_output=True, check=False).returncode == 0:
                problems.append(f"{wrong} is taken in {name}")
    return problems


def of_kind(documents: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    return next(each for each in documents if each["kind"] == kind and each["metadata"]["name"] == name)


def laws_of_kubernetes(documents: list[dict[str, Any]]) -> list[str]:
    problems = []
    deployment = of_kind(documents, "Deployment", "mcp-text-editor")["spec"]
    pod = deployment["template"]["spec"]
    editor = pod["containers"][0]
    claim = of_kind(documents, "PersistentVolumeClaim", "projects")["spec"]
    pause = editor["lifecycle"]["preStop"]["sleep"]["seconds"]
    checks = {
        "several replicas": deployment["replicas"] >= 2,
        "a volume that pods share": claim["accessModes"] == ["ReadWriteMany"],
        "time to end": pod["terminationGracePeriodSeconds"] > CALL_SECONDS + ANSWERS + pause,
        "ready by /readyz": editor["readinessProbe"]["httpGet"]["path"] == "/readyz",
        "alive by /healthz": editor["livenessProbe"]["httpGet"]["path"] == editor["startupProbe"]["httpGet"]["path"] == "/healthz",
        "probes at the port that is served": editor["ports"] == [{"name": "http", "containerPort": port_of(editor["args"])}],
        "no token of Kubernetes'": pod["automountServiceAccountToken"] is False,
        "clients reach /mcp alone": [path["path"] for path in of_kind(documents, "Ingress", "mcp-text-editor")["spec"]["rules"][0]["http"]["paths"]] == ["/mcp"],
        "the host of the Ingress is served": "editor.example" in editor["args"],
    }
    for each in (of_kind(documents, "StatefulSet", "database")["spec"]["template"]["spec"], pod):
        checks[f"not root: {each['containers'][0]['name']}"] = each["securityContext"]["runAsNonRoot"] and each["securityContext"]["runAsUser"] > 0
        for container in each["containers"] + each.get("initContainers", []):
            own = container["securityContext"]
            checks[f"confined: {container['name']}"] = (own["readOnlyRootFilesystem"] and not own["allowPrivilegeEscalation"]
                                                        and own["capabilities"] == {"drop": ["ALL"]})
            # A secret comes from a secret: no text of the manifest is one.
            named = [variable for variable in container.get("env", []) if "PASSWORD" in variable["name"]]
            checks[f"no secret in {container['name']}"] = all("secretKeyRef" in variable["valueFrom"] for variable in named) and not any(
                re.search(r"//[^/@]*:[^/@]*@", word) for word in texts(container))
            mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
            known = {volume["name"] for volume in each["volumes"]} | {"data"}
            checks[f"volumes of {container['name']}"] = mounted <= known
    for service in ("mcp-text-editor", "database"):
        kind = "Deployment" if service == "mcp-text-editor" else "StatefulSet"
        labels = of_kind(documents, kind, service)["spec"]["template"]["metadata"]["labels"]
        checks[f"the service {service} finds its pods"] = of_kind(documents, "Service", service)["spec"]["selector"].items() <= labels.items()
    return [name for name, holds in checks.items() if not holds] + problems


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def port_of(command: list[str]) -> int:
    return int(command[command.index("--http") + 1].rsplit(":", 1)[1])


def laws_of_compose(compose: dict[str, Any], nginx: str) -> list[str]:
    services = compose["services"]
    editor = services["editor"]
    checks = {
        "several replicas": editor["deploy"]["replicas"] >= 2,
        "time to end": seconds(editor["stop_grace_period"]) > CALL_SECONDS + ANSWERS,
        "not root": editor["user"] == f"{USER}:{USER}",
        "the database is nobody else's": compose["networks"]["back"]["internal"] and services["database"]["networks"] == ["back"],
        "clients reach the balancer alone": [name for name, service in services.items() if "ports" in service] == ["balancer"],
        "the balancer asks the port that is served": f"editor:{port_of(editor['command'])}" in nginx,
        "every secret is declared": {name for service in services.values() for name in service.get("secrets", [])} == set(compose["secrets"]),
        "no secret in it": not any(re.search(r"//[^/@]*:[^/@]*@", text) for text in texts(compose)),
    }
    for name in ("editor", "balancer"):
        service = services[name]
        checks[f"confined: {name}"] = service["read_only"] and service["cap_drop"] == ["ALL"] and "no-new-privileges:true" in service["security_opt"]
    return [name for name, holds in checks.items() if not holds]


def nginx_takes(directory: Path, nginx: str) -> list[str]:
    """nginx reads the balancer's configuration, with files of this machine in place of the container's."""
    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not program:
        return skipped("the balancer", "nginx is not there")
    certificate(directory, "balancer", None)
    text = nginx.replace("/run/secrets/certificate_key", f"{directory}/balancer.key").replace("/run/secrets/certificate", f"{directory}/balancer.crt")
    (directory / "site.conf").write_text(text)
    (directory / "nginx.conf").write_text(f"pid {directory}/pid; error_log stderr; events {{}} http {{ access_log off; include {directory}/site.conf; }}")
    run(program, "-t", "-q", "-c", directory / "nginx.conf")
    return []


# What a container would give


def certificate(directory: Path, name: str, authority: str | None) -> None:
    """A certificate of localhost: an authority's own, or one by this authority."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout", f"{name}.key"]
    if authority is None:
        run("openssl", "req", "-x509", "-subj", f"/CN={name}", "-out", f"{name}.crt", *curve, cwd=directory)
        return
    run("openssl", "req", "-subj", f"/CN={name}", "-out", f"{name}.csr", *curve[:-4], "-keyout", f"{name}.key", cwd=directory)
    (directory / "names").write_text("subjectAltName=DNS:localhost")
    run("openssl", "x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial",
        "-extfile", "names", "-out", f"{name}.crt", cwd=directory)


@contextlib.contextmanager
def postgresql(directory: Path) -> Iterator[int]:
    """A server that takes the role's password alone, with TLS for who wants it; its port."""
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    data, port = directory / "data", free_port()
    as_user: dict[str, Any] = {"user": DATABASE_USER, "group": DATABASE_USER, "extra_groups": [], "cwd": "/tmp"}
    data.mkdir()
    os.chown(data, DATABASE_USER, DATABASE_USER)
    run(f"{binaries}/initdb", "--auth=trust", "--no-sync", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D", data, **as_user)
    certificate(directory, "authority", None)
    certificate(directory, "database", "authority")
    for name in ("database.crt", "database.key"):
        shutil.copy(directory / name, data / name)
        os.chown(data / name, DATABASE_USER, DATABASE_USER)
        (data / name).chmod(0o400)
    (data / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n")
    options = {"listen_addresses": "localhost", "port": port, "unix_socket_directories": data, "ssl": "on", "ssl_cert_file": "database.crt",
               "ssl_key_file": "database.key"}
    command = [f"{binaries}/postgres", "-D", str(data), *(word for name, value in options.items() for word in ("-c", f"{name}={value}"))]
    with (directory / "database.log").open("wb") as log, subprocess.Popen(command, stderr=log, **as_user) as server:
        try:
            psql = (f"{binaries}/psql", "-h", data, "-p", str(port), "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-qc")
            until("the database", lambda: not subprocess.run([*map(str, psql), "select", "postgres"], capture_output=True, check=False).returncode)
            run(*psql, f"create role editor login password '{PASSWORD}'", "postgres")
            run(*psql, "create database editors owner editor", "postgres")
            yield port
        finally:
            server.send_signal(signal.SIGQUIT)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def until(what: str, holds: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"waited for {what} in vain")
        time.sleep(0.05)


def owned(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o400)
    os.chown(path, USER, USER)


class Described:
    """A process as a file describes it, with the paths and the hosts of this machine in place of the container's."""

    def __init__(self, directory: Path, command: list[str], variables: dict[str, str], replaced: dict[str, str]) -> None:
        self.directory, self.replaced = directory, replaced
        self.command = [self.here(word) for word in command]
        # What every container has, and the image's own.
        self.variables = {"HOME": "/", "PATH": "/usr/bin:/bin", "MCP_TEXT_EDITOR_STATE_DIR": "/state/mcp-text-editor",
                          **{name: self.here(value) for name, value in variables.items()}}

    def here(self, text: str) -> str:
        for theirs, ours in self.replaced.items():
            text = re.sub(theirs, ours, text)
        return text

    def start(self, arguments: list[str], port: int, log: Path) -> subprocess.Popen[bytes]:
        words = [word.replace(f":{port_of(self.command)}", f":{port}") if word.startswith("0.0.0.0:") else word for word in arguments]
        with log.open("wb") as file:
            return subprocess.Popen([self.directory / "mcp-text-editor", *words], env=self.variables, cwd=self.directory / "work", stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=file, user=USER, group=USER, extra_groups=[])

    def once(self, arguments: list[str]) -> tuple[int, str]:
        done = subprocess.run([self.directory / "mcp-text-editor", *map(self.here, arguments)], env=self.variables, cwd=self.directory / "work",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, user=USER, group=USER, extra_groups=[])
        return done.returncode, done.stdout + done.stderr


def get(port: int, path: str) -> int:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("GET", path, headers={"Host": "pod"})
        return connection.getresponse().status
    except OSError:
        return 0


def call(port: int, host: str, token: str, arguments: dict[str, Any]) -> tuple[int, str]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": PATCH, "arguments": arguments}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18",
               "Host": host, "Authorization": f"Bearer {token}"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", "/mcp", json.dumps(message), headers)
    response = connection.getresponse()
    return response.status, response.read().decode()


def runs(described: Described, replicas: int, host: str, health: list[str] | None) -> list[str]:
    """The replicas become ready, edit one file in turn, undo each other's edits, and end in time."""
    problems: list[str] = []
    work, logs = described.directory / "work", described.directory / "logs"
    logs.mkdir(exist_ok=True)
    file = work / "count.txt"
    file.write_text("made 0\n")
    os.chown(file, USER, USER)
    ports = [free_port() for _ in range(replicas)]
    processes = [described.start(described.command, port, logs / str(port)) for port in ports]
    try:
        for port, process in zip(ports, processes):
            until("a replica", lambda port=port, process=process: process.poll() is not None or get(port, "/healthz") == 200)
            until("its database", lambda port=port, process=process: process.poll() is not None or get(port, "/readyz") == 200)
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
            if TOKEN in line or PASSWORD in line:
                problems.append(f"a secret is in the command line {line}")
        for number in range(2 * replicas):
            patches = [{"old_string": f"made {number}\n", "new_string": f"made {number + 1}\n"}]
            status, answer = call(ports[number % replicas], host, TOKEN, {"files": [{"file_path": str(file), "patches": patches}]})
            if status != 200 or '"isError":true' in answer or "warnings" in answer:
                problems.append(f"edit {number}: {status} {answer[:600]}")
        if call(ports[0], host, "another", {})[0] != 401 or call(ports[0], "elsewhere.example", TOKEN, {})[0] != 403:
            problems.append("another token or another host is let in")
        if health is not None and (told := described.once(health))[0] != 0:
            problems.append(f"it is not healthy: {told[1][-800:]}")
        names = described.command[described.command.index("--root-name"):][:2]
        code, told = described.once(["history", "--json", "-n", "1", *names])
        edit = json.loads(told.splitlines()[0]) if code == 0 and told else {"edit_id": "none", "files": [{}]}
        code, told = described.once(["undo", edit["edit_id"], *names])
        if code or file.read_text() != f"made {2 * replicas - 1}\n":
            problems.append(f"the last edit is not undone: {told[-800:]}")
        began = time.monotonic()
        for process in processes:
            process.terminate()
        if codes := [code for process in processes if (code := process.wait(PATIENCE))]:
            problems.append(f"they end with {codes}")
        if time.monotonic() - began > ANSWERS:
            problems.append("they end late")
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for log in logs.iterdir():
        said = log.read_text()
        if PASSWORD in said or TOKEN in said:
            problems.append(f"a log has a secret: {said[-600:]}")
        if warned := [line for line in said.splitlines() if '"level":"WARN"' in line or '"level":"ERROR"' in line]:
            problems.append(f"they warn: {warned[:3]}")
        if '"level":"INFO"' not in said:
            problems.append(f"there is no log: {said[-600:]}")
        log.unlink()
    return problems


def main() -> int:
    report = Report()
    try:
        import yaml
    except ImportError:
        report.skip("deployments", "PyYAML is not there: pip install --require-hashes -r .ci/tools.txt")
        return report.end()
    kubernetes, compose, nginx = ((DEPLOY / name).read_text() for name in ("kubernetes.yaml", "compose.yaml", "nginx.conf"))
    documents, services = list(yaml.safe_load_all(kubernetes)), yaml.safe_load(compose)
    report.section("what the files say")
    report.run("their own validators", validated)
    report.run("what their validators see", lambda: validators_see(kubernetes, compose))
    report.run("laws of the manifest", lambda: laws_of_kubernetes(documents))
    report.run("laws of the Compose file", lambda: laws_of_compose(services, nginx))
    missing = [name for name, there in (("root", os.geteuid() == 0), ("PostgreSQL", glob.glob("/usr/lib/postgresql/*/bin/initdb")),
                                        ("openssl", shutil.which("openssl"))) if not there]
    if missing:
        report.skip("what they describe", f"there is no {', '.join(missing)}")
        return report.end()
    with tempfile.TemporaryDirectory(prefix="deployment", dir="/tmp") as name:
        directory = Path(name)
        directory.chmod(0o755)
        report.run("the balancer", lambda: nginx_takes(directory, nginx))
        shutil.copy(BINARY, directory / "mcp-text-editor")
        for each in ("work", "secrets"):
            (directory / each).mkdir()
            os.chown(directory / each, USER, USER)
        owned(directory / "secrets/token", TOKEN + "\n")
        owned(directory / "secrets/pgpass", f"*:*:editors:editor:{PASSWORD}\n")
        with postgresql(directory) as port:
            report.section("what they describe")
            replaced = {"@database:5432/": f"@localhost:{port}/", r"(?<![\w/])/work\b": f"{directory}/work", "/run/secrets/": f"{directory}/secrets/",
                        "/run/private/": f"{directory}/secrets/", "/run/authority/ca.crt": f"{directory}/authority.crt",
                        r"\$\{MCP_TEXT_EDITOR_HOST[^}]*\}": "editor.example"}
            editor = services["services"]["editor"]
            described = Described(directory, editor["command"], editor["environment"], replaced)
            health = editor["healthcheck"]["test"][2:]
            report.run("Compose's processes", lambda: runs(described, editor["deploy"]["replicas"], "editor.example", health))
            deployment = of_kind(documents, "Deployment", "mcp-text-editor")["spec"]
            pod = deployment["template"]["spec"]["containers"][0]
            variables = {each["name"]: each.get("value", PASSWORD) for each in pod["env"]}
            described = Described(directory, pod["args"], variables, replaced)
            report.run("Kubernetes' processes", lambda: runs(described, deployment["replicas"], "editor.example", None))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
