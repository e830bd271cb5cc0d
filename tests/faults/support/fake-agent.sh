#!/bin/sh
# Stands for the client in stress tests of the runner: speaks its stream, is fast, and keeps a journal of its own.
#   FAKE_JOURNAL  a line for each thing that happened: start N PID, end N PID, beside N PID (another agent was at work)
#   FAKE_WORK     seconds that a turn takes; otherwise up to 0.05
#   FAKE_FINISH   once this file is there, the agent claims completion
case "$1" in --version) echo '2.1.330 (fake)'; exit 0 ;; esac

note() { echo "$1 $iteration $$" >>"$FAKE_JOURNAL"; }
# A process that has ended and that nobody reaps does not work any more.
works() {
  [ -n "$1" ] && read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  case "${stat##*) }" in Z* | X*) return 1 ;; esac
}

# Without a word it has nothing to do.
IFS= read -r prompt || exit 1
rest=${prompt#*Iteration }
iteration=${rest%% *}
busy="$FAKE_JOURNAL.busy"
[ -e "$busy" ] && read -r other <"$busy" && [ "$other" != "$$" ] && works "$other" && note beside
echo $$ >"$busy"
note start

# What the client does too: its background shells live on in its group, and on SIGTERM it takes its time.
sleep 300 >/dev/null 2>&1 &
trap 'sleep 0.8; note killed; exit 143' TERM
printf '{"type":"system","subtype":"init","session_id":"s-%s","model":"fake"}\n' "$$"
sleep "${FAKE_WORK:-0.0$(($$ % 6))}"
answer="Step $$ is done."
[ -e "$FAKE_FINISH" ] && answer="All is done.\\n\\nRALPH_AUDIT_COMPLETE_NO_FINDINGS"
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}\n' "$answer"
note end
printf '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,"result":"%s","total_cost_usd":0.25,"modelUsage":{"fake":{"inputTokens":100,"outputTokens":10,"cacheReadInputTokens":0,"cacheCreationInputTokens":0}}}\n' "$answer"
: >"$busy"
