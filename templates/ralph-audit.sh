#!/bin/sh
# Starts a loop and Claude Code for it, in this terminal.
#   .claude/ralph/ralph-audit.sh                                   interactive
#   .claude/ralph/ralph-audit.sh --headless --permission-mode acceptEdits
#   .claude/ralph/ralph-audit.sh --resume                          resume the last loop
#   .claude/ralph/ralph-audit.sh -- --model opus                   what follows -- goes to claude
# Exits with the exit code of the loop and says why it ended. All options: .claude/ralph/ralph-audit.sh --help
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
project=$(dirname -- "$(dirname -- "$here")")
main="$project/.claude/skills/ralph-loop/scripts/main.cjs"

node=${RALPH_NODE:-}
[ -n "$node" ] || node=$(command -v node 2>/dev/null)
if [ -z "$node" ]; then
  # Version managers put node on the PATH of interactive shells only.
  for candidate in "$HOME"/.volta/bin/node "$HOME"/.local/share/fnm/aliases/default/bin/node \
    "$HOME"/.nvm/versions/node/*/bin/node /usr/local/bin/node /opt/homebrew/bin/node; do
    [ -x "$candidate" ] && node=$candidate
  done
fi
if [ -z "$node" ]; then
  echo "ralph-loop: node was not found. Install Node.js 20.12 or newer, or set RALPH_NODE to its path." >&2
  exit 1
fi
if [ ! -f "$main" ]; then
  echo "ralph-loop: $main is missing. Install it again: ralph-loop init." >&2
  exit 1
fi

RALPH_ACTIVE=1
export RALPH_ACTIVE
exec "$node" "$main" start --launch --project "$project" "$@"
