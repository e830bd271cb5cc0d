// The examples that task folders are explained by, letter for letter.

export const AUTH_FIXES = `---
args:
  - owner
commands:
  - name: tests
    run: npm test
    timeout: 60
    acceptance: true
  - name: verify
    run: ./scripts/verify.sh
    timeout: 60
    acceptance: true
max_iterations: 20
timeout: 120
completion_promise: DONE
completion_gate: required
required_outputs:
  - AUTH_FIXES.md
stop_on_error: false
guardrails:
  block_commands:
    - 'git\\s+push'
  protected_files:
    - '.env*'
    - 'policy:secret-bearing-paths'
---
Fix the failing auth tests for {{ args.owner }}.

## Current test results
{{ commands.tests }}

## Verification
{{ commands.verify }}

Stop with <promise>DONE</promise> only when all tests pass, AUTH_FIXES.md exists, and OPEN_QUESTIONS.md has no remaining P0/P1 items.
`;

export const MINIMAL = `---
max_iterations: 10
---
Read TODO.md and implement the next task. Commit when done.
`;

export const SELF_HEALING = `---
commands:
  - name: tests
    run: npm test
    timeout: 60
max_iterations: 20
completion_promise: DONE
---
{{ commands.tests }}

Fix failing tests before starting new work.
Read TODO.md and implement the next task.
Stop with <promise>DONE</promise> when all tests pass and OPEN_QUESTIONS.md has no remaining P0/P1 items.
`;

export const MULTI_ENV = `---
args:
  - env
  - focus
commands:
  - name: tests
    run: npm test -- --env={{ args.env }}
    timeout: 120
max_iterations: 15
guardrails:
  protected_files:
    - 'policy:secret-bearing-paths'
---
Environment: {{ args.env }}
Focus: {{ args.focus }}

{{ commands.tests }}
`;

export const MIGRATION = `---
commands:
  - name: build
    run: npm run build
    timeout: 60
  - name: tests
    run: npm test
    timeout: 120
required_outputs:
  - MIGRATION_NOTES.md
stop_on_error: false
max_iterations: 30
completion_promise: DONE
---
Migrate one module per iteration from the legacy API to the new one.

Build output:
{{ commands.build }}

Test results:
{{ commands.tests }}

Stop with <promise>DONE</promise> when MIGRATION_NOTES.md exists, all tests pass, and OPEN_QUESTIONS.md has no remaining P0/P1 items.
`;

export const SCAFFOLD = `---
max_iterations: 10
timeout: 120
commands: []
completion_promise: DONE
completion_gate: optional
---
# {{ ralph.name }}

Describe the task here.

## Evidence

Use {{ commands.* }} outputs as evidence.

## Completion

Stop with <promise>DONE</promise> when finished.
`;
