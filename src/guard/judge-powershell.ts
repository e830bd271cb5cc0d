import { mentionsControl } from './control-program.ts';
import type { Guard } from './guard.ts';
import type { Denial, Verdict } from './guard-rules.ts';
import { judgeByGuardrails } from './judge-by-guardrails.ts';
import { controlDenied, UNREADABLE, unreadableDenied } from './messages.ts';
import type { Parts } from './parts.ts';
import { shownPath } from './path-use-hit.ts';
import { mentions } from './protected-paths.ts';
import { readPowerShell } from './read-powershell.ts';

const WRITES =
  /\b(Set-Content|Out-File|Remove-Item|Move-Item|Copy-Item|Add-Content|Clear-Content|New-Item|Rename-Item|Set-Item|Set-Acl|Tee-Object|Export-\w+|Invoke-WebRequest|Expand-Archive|del|erase|rm|rd|rmdir|ri|copy|cp|cpi|move|mv|mi|ren|rni|ni|sc|ac|clc|attrib|icacls|robocopy|xcopy|mklink|git\s+(checkout|restore|clean|stash|rm|mv))\b|>|\[(System\.)?IO\.|WriteAll|::Delete|::Move|::Copy|::Replace/i;

/** PowerShell has no parser here: its raw text is judged, which denies rather too much than too little. */
export async function judgePowerShell(source: string, cwd: string, guard: Guard, parts: Parts): Promise<Verdict> {
  // A backtick escapes in PowerShell (Remo`ve-Item), a caret in cmd, and quotes may stand anywhere in a word.
  const text = source.replace(/[`^'"]/g, '').replaceAll('\\', '/');
  const own = ownDenial(text, cwd, guard);
  const { guardrails } = guard.rules;
  if (own !== null) return own;
  if (!guardrails) return { decision: 'allow', recorded: [] };
  const reading = readPowerShell(text, cwd, WRITES.test(text));
  const { denial, open } = await judgeByGuardrails(source, reading, guard, guardrails, parts);
  return denial ?? { decision: 'allow', recorded: open.map(({ kind, text: what }) => `${kind}: ${what}`) };
}

function ownDenial(text: string, cwd: string, guard: Guard): Denial | null {
  const program = mentionsControl(text, cwd, guard);
  if (program !== undefined && !runsForAgents(text, guard)) {
    return {
      decision: 'deny',
      rule: 'control-commands',
      message: controlDenied(`this names ${program}`, guard.rules.agentCommands),
    };
  }
  const own = guard.own.find((entry) => mentions(text, entry));
  if (own !== undefined && WRITES.test(text)) {
    return {
      decision: 'deny',
      rule: 'own-files',
      message: unreadableDenied('own-files', UNREADABLE.powershell ?? '', shownPath(own, guard)),
    };
  }
  return null;
}

/** Every place that names the control program is followed by a command for agents, and nothing copies it. */
function runsForAgents(text: string, guard: Guard): boolean {
  if (/\b(Copy-Item|Move-Item|copy|move|cp|mv|Get-Content|gc|type|cat|New-Item|mklink)\b/i.test(text)) return false;
  const pieces = text.split(/\.cjs\b|\bralph-loop(?=\s)|\.(?:sh|bat|ps1)\b/i).slice(1);
  return pieces.every((piece) => {
    const subcommand = /^\s*([^\s;|&]*)/.exec(piece)?.[1] ?? '';
    return guard.rules.agentCommands.includes(subcommand);
  });
}
