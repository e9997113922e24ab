# The README's two commands are `make run` and `make test`; everything else is for developers.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: run test check format lint types contracts docs lock clean

run: $(STAMP)
	@$(BIN)/accelwatch welcome

# Much of the suite waits for real servers, so three at once keep two cores busy; PYTEST_ARGS= is one after another.
# Bytecode is written even where the environment says not to: the suite starts our program many hundred times, and
# would compile its modules anew each time.
PYTEST_ARGS ?= -n 3 --dist worksteal
test: $(STAMP)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest $(PYTEST_ARGS)

# What needs no process, no server and no terminal, within two minutes: a look at a change, not a check of it.
NEAR := base system schema node/query expr plugins backend config house remediation alerting/rules \
	alerting/incidents fleet/dialects fleet/table fleet/rules node/store node/topology
# Of these, what starts PostgreSQL, Prometheus or programs, and what plays thousands of histories.
NOT_NEAR := alerting/incidents/test_journal_in_postgresql.py alerting/incidents/test_replicated_journal.py \
	alerting/rules/test_prometheus_export.py remediation/test_database_failover.py \
	remediation/test_end_to_end.py remediation/test_journal_quarantines.py remediation/test_killed_process.py \
	remediation/test_manual_changes.py remediation/test_pair_end_to_end.py remediation/test_script_pursuit.py \
	remediation/test_walker.py
.PHONY: near
near: $(STAMP)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest $(PYTEST_ARGS) -q $(addprefix tests/,$(NEAR)) \
		$(addprefix --ignore=tests/,$(NOT_NEAR))

check: format lint types contracts test

format: $(STAMP)
	$(BIN)/ruff format --check .

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports

# The documentation as a site in build/site, searched without a network; a link that leads nowhere ends it.
docs: $(STAMP)
	$(BIN)/python docs/build_site.py

# Every version and every hash comes from requirements/dev.lock.
$(STAMP): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "accelwatch needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "setting up $(VENV) with locked versions; this takes a minute, once" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# Needs uv; run it after a change of dependencies in pyproject.toml.
lock:
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		pyproject.toml --group dev -o requirements/dev.lock
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		pyproject.toml --extra otlp -c requirements/dev.lock -o requirements/run.lock

clean:
	rm -rf $(VENV) build dist mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis

# deb and rpm of program, agent and hub in `dist`; FORMATS="--format deb" for one of them.
.PHONY: packages
packages: $(STAMP)
	@$(BIN)/python distribution/build_packages.py --out dist $(FORMATS)

# Baselines and shipped packs over three small traces with known faults: benchmarks/README.md. ARGS="--seeds 3 4" for others.
.PHONY: detection
detection: $(STAMP)
	@$(BIN)/python benchmarks/detection/detection_table.py $(ARGS)

# The tools that benchmarks compare with, in an environment of their own.
.PHONY: peers
peers:
	@test -x .peers/bin/python || $(PYTHON) -m venv .peers
	@.peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers.txt

# Mutation tests (docs/mutation-tests.md): of one module, MODULE=src/accelwatch/node/query/picking.py, or of all that are listed.
.PHONY: mutants
mutants: $(STAMP)
	@PYTHONDONTWRITEBYTECODE= BIN=$(BIN) JOBS=$(JOBS) sh tests/mutants/run.sh $(MODULE)

# The dashboard's tests on the oldest and on the newest Textual that pyproject.toml allows; TESTS=tests/tui/test_keys.py for
# some of them.
.PHONY: textual
textual: $(STAMP)
	@$(BIN)/python tests/tui/textual_versions.py $(TESTS)

# The action's tests on another Slurm than the installed one, unpacked from the system's own package sources without root:
# the newest that they have, or the newest 26.05 with VERSION=26.05.
.PHONY: slurm
SLURM_TESTS ?= tests/actions/slurm
VERSION ?= newest
slurm: $(STAMP)
	@folder=$$($(BIN)/python tests/support/slurm/unpacked.py $(VERSION)) \
		&& PATH="$$folder/bin:$$PATH" PYTHONDONTWRITEBYTECODE= $(BIN)/pytest $(SLURM_TESTS)

# The Kubernetes tests on real servers: etcd, kube-apiserver and kube-controller-manager, built once from their Go modules
# into the user's cache; the newest release that we know, or VERSION=1.31.13.
.PHONY: kubernetes
KUBERNETES_TESTS ?= $(wildcard tests/actions/kubernetes tests/api_client/kubernetes tests/lab/kubernetes tests/lab/test_kubernetes_scenarios.py tests/fleet/targets/test_real_kubernetes.py \
	tests/fleet/evidence tests/examples/test_manifests_on_a_server.py)
kubernetes: $(STAMP)
	@folder=$$($(BIN)/python tests/support/kubernetes/build.py $(VERSION)) \
		&& ACCELWATCH_KUBERNETES_VERSION=$$(basename "$$folder") PYTHONDONTWRITEBYTECODE= $(BIN)/pytest $(KUBERNETES_TESTS)

# The example of JobSet's in-place restart under the real controller: it and its restart agent are built once, from a clone
# or a folder of git, into the user's cache; needs Go, a module proxy and `make kubernetes`.
.PHONY: jobset
JOBSET_VERSION := $(shell sed -n 's/^VERSION = "\(.*\)"/\1/p' tests/support/kubernetes/jobset.py)
JOBSET_FOLDER = $${XDG_CACHE_HOME:-$$HOME/.cache}/accelwatch/jobset/$(JOBSET_VERSION)
JOBSET_SOURCE ?= https://github.com/kubernetes-sigs/jobset
jobset: $(STAMP)
	@test -x "$(JOBSET_FOLDER)/in-place-restart-agent" || { source=$$(mktemp -d) && mkdir -p "$(JOBSET_FOLDER)" \
		&& git clone --quiet --depth 1 --branch v$(JOBSET_VERSION) "$(JOBSET_SOURCE)" "$$source" \
		&& cp "$$source/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml" "$(JOBSET_FOLDER)/crd.yaml" \
		&& (cd "$$source" && nice go build -trimpath -ldflags '-s -w' -o "$(JOBSET_FOLDER)/jobset" . \
			&& nice go build -trimpath -ldflags '-s -w' -o "$(JOBSET_FOLDER)/in-place-restart-agent" ./cmd/in-place-restart-agent) \
		&& rm -rf "$$source"; }
	$(BIN)/pytest tests/examples/test_jobset_on_a_server.py

# The Backend.AI tests on real servers: manager and agents in a Debian 13 tree that is built once in the user's cache (root,
# debootstrap, four minutes, 2 GB); the newest release that we know, or VERSION=26.1.0.
.PHONY: backendai
BACKENDAI_TESTS ?= $(wildcard tests/actions/backendai tests/api_client/backendai tests/lab/backendai tests/lab/test_backendai_*.py tests/fleet/targets/test_sessions_of_a_cluster.py tests/fleet/targets/test_backendai_groups.py)
backendai: $(STAMP)
	@version=$$($(BIN)/python tests/support/backendai/build.py $(VERSION)) \
		&& ACCELWATCH_BACKENDAI_VERSION="$$version" PYTHONDONTWRITEBYTECODE= $(BIN)/pytest $(BACKENDAI_TESTS)

# The real client of the node-health check (docs/in-job.md), unpacked once into the user's cache: what runs without torch.
.PHONY: nvrx
NVRX_VERSION := 0.7.0
NVRX_FOLDER = $${XDG_CACHE_HOME:-$$HOME/.cache}/accelwatch/nvrx/$(NVRX_VERSION)
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
nvrx: $(STAMP)
	@test -d "$(NVRX_FOLDER)" || { fetched=$$(mktemp -d) \
		&& $(PIP) download --no-deps --only-binary=:all: --python-version 3.12 --platform manylinux_2_39_x86_64 \
			--dest "$$fetched" nvidia-resiliency-ext==$(NVRX_VERSION) \
		&& $(PIP) install --target "$$fetched/all" defusedxml httpx \
		&& $(BIN)/python -m zipfile -e "$$fetched"/*.whl "$$fetched/all" \
		&& mkdir -p "$$(dirname "$(NVRX_FOLDER)")" && mv "$$fetched/all" "$(NVRX_FOLDER)"; }

# PyTorch for examples/torchrun-elastic, installed once into the user's cache: the default index's wheel, with NVIDIA's
# libraries several GB, which a machine without a GPU does not use.
.PHONY: torch
TORCH_VERSION := $(shell sed -n 's/^TORCH_VERSION = "\(.*\)"/\1/p' tests/examples/test_torchrun_elastic.py)
TORCH_FOLDER = $${XDG_CACHE_HOME:-$$HOME/.cache}/accelwatch/torch/$(TORCH_VERSION)
torch: $(STAMP)
	@test -e "$(TORCH_FOLDER)/.installed" || { $(PYTHON) -m venv --clear "$(TORCH_FOLDER)" \
		&& "$(TORCH_FOLDER)/bin/python" -m pip --disable-pip-version-check --quiet install torch==$(TORCH_VERSION) numpy \
		&& touch "$(TORCH_FOLDER)/.installed"; }
	$(BIN)/pytest tests/examples/test_torchrun_elastic.py

# The Helm chart's tests with helm, built once from its Go module into the user's cache: two minutes of CPU.
.PHONY: helm
HELM_VERSION := $(shell sed -n 's/^VERSION = "\(.*\)"/\1/p' tests/examples/test_helm_chart.py)
HELM_FOLDER = $${XDG_CACHE_HOME:-$$HOME/.cache}/accelwatch/helm/$(HELM_VERSION)
helm: $(STAMP)
	@test -x "$(HELM_FOLDER)/helm" || GOBIN="$(HELM_FOLDER)" nice go install -ldflags '-s -w' helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
	$(BIN)/pytest tests/examples/test_helm_chart.py

# The remedies' state machine over seeded histories: docs/remediation.md. `make walk HISTORIES=100000` takes minutes.
HISTORIES ?= 100000
.PHONY: walk
walk: $(STAMP)
	@PYTHONPATH=tests $(BIN)/python -m support.remediation.walker --histories $(HISTORIES)

# The tests in another order of files, and of the tests in each: SEED=7 is that order again; TESTS=tests/agent for some.
.PHONY: shuffle
TESTS ?= tests
shuffle: $(STAMP)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest $(PYTEST_ARGS) --random-order-bucket=module --random-order-seed=$(SEED) $(TESTS)

# A night of 8 simulated hours with forty faults, and its report: tests/night. SEED=7 plays that night again.
SEED ?= 1
.PHONY: night
night: $(STAMP)
	@cd tests && PYTHONHASHSEED=0 ../$(BIN)/python -m night --seed $(SEED)
