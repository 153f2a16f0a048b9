# Finds a Python that Airlock can use and hands over to bootstrap.py: `sh setup.sh GROUP [--libraries PURPOSE]`.
# Plain POSIX sh. A candidate counts only if it really runs: a version manager's stand-in may exist and fail.
set -u
here=$(dirname "$0")
stamp=$here/../../.venv/airlock-stamp.json

supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))'

# Prints "ok", "no-venv 3.12" or "wrong 3.9"; nothing when the candidate does not run.
probe() {
    "$1" -c '
import sys
version = "%d.%d" % sys.version_info[:2]
if not (3, 11) <= sys.version_info[:2] < (3, 14):
    print("wrong " + version)
else:
    try:
        import venv, ensurepip
        print("ok")
    except ImportError:
        print("no-venv " + version)
' 2>/dev/null
}

find_python() {
    python='' without_venv='' wrong=''
    for candidate in ${PYTHON:+"$PYTHON"} python3.13 python3.12 python3.11 python3 python py; do
        answer=$(probe "$candidate")
        case $answer in
            ok*) python=$candidate; return 0 ;;
            no-venv*) : "${without_venv:=${answer#no-venv }}" ;;
            wrong*) : "${wrong:=${answer#wrong }}" ;;
        esac
        [ "$candidate" = "${PYTHON:-}" ] && break
    done
    return 1
}

# The prepared environment's own Python answers soonest, unless PYTHON asks for another; a system upgrade may have
# put a different Python, or none, behind its name.
if [ -z "${PYTHON:-}" ] && [ -f "$stamp" ]; then
    for own in "$here/../../.venv/bin/python" "$here/../../.venv/Scripts/python.exe"; do
        [ -x "$own" ] && "$own" -SEc "$supported" 2>/dev/null && exec "$own" "$here/bootstrap.py" "$@"
    done
fi

if ! find_python && [ -n "$without_venv" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing python$without_venv-venv, without which Python cannot make a virtual environment." >&2
    apt-get -q update >/dev/null 2>&1
    DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "python$without_venv-venv" >/dev/null 2>&1
    find_python
fi

if [ -n "$python" ]; then
    exec "$python" "$here/bootstrap.py" "$@"
elif [ -n "$without_venv" ]; then
    echo "Python $without_venv is here without its venv module: on Debian or Ubuntu run \`apt-get install python$without_venv-venv\` as root." >&2
elif [ -n "${PYTHON:-}" ]; then
    echo "PYTHON is $PYTHON, which ${wrong:+is Python $wrong and }is not a working Python 3.11, 3.12 or 3.13." >&2
else
    echo "Airlock needs Python 3.11, 3.12 or 3.13${wrong:+ and found only $wrong}: on Debian or Ubuntu run \`apt-get install python3 python3-venv\` as root, elsewhere see python.org, or name one with \`make PYTHON=/path/to/python …\`." >&2
fi
exit 1
