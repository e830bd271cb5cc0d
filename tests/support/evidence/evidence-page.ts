import { COLUMNS } from './evidence-columns.ts';
import { type Cell, damagesOf, fileOf } from './evidence-table.ts';
import { RECORDS } from './record-losses.ts';

const BEGIN = `# Evidence outside the project

Everything that a verdict, a limit or a protection of a loop rests on is kept outside the project, with a manifest of digests. No file of it
goes missing, or is changed, without a word: the loop pauses as \`evidence-lost\` (exit code 3), and every report names the file and the
cause. \`resume\` takes the present state as a new start, and says so.

This page is what the loops of tests/unit/drive/evidence-table.test.ts did, whose agent damages one file in its turn and then claims to be
done; \`UPDATE=1 node --import tsx --test tests/unit/drive/evidence-table.test.ts\` writes it. An older copy is that of the start of the loop,
or of another loop where the file has not changed since; of the stamps (\`snapshot.look\`) always another loop's, for an own older one only
makes a loop examine more. *Edited*: one digit differs, or of the counters the iteration is higher. *Made
up*: a whole file in the same form that says something else. A dash: a loop of this kind has no such file. *As runner*: a run on a plan,
alone or beside others, is one of a runner, which reads the file; it was not damaged here again. *Continues with the counts of the
state*: counts only rise, so that the higher ones apply, of the state or of \`counters.json\`; an older copy of one of them takes nothing
back, and its next count replaces it. *Changed with its digest*: the manifest was rewritten as well, so that both agree. A runner remembers
what it has stored, until the user accepts another version, which every report names; in a session and a router no process remembers
anything. Of a snapshot, and of the scenarios of test-first work, that is not noticed anywhere: hooks and commands of the agent's turn
write them too. Only in the sandbox can no program of the agent write outside the project.
`;

const TEXTS: Readonly<Record<string, string>> = {
  'is missing': 'pauses: missing',
  'is empty': 'pauses: empty',
  'is incomplete or not readable': 'pauses: torn',
  'was replaced by an older copy': 'pauses: older',
  'was changed by another program': 'pauses: changed',
  'belongs to another loop': "pauses: another loop's",
};

const RECORDS_BEGIN = `## Records of a project

The records of a parallel run and of its worktrees are no loop's. A resume of a run whose record is lost refuses and names the file;
\`run TASK... --fresh\` starts over. Where the record of a worktree is lost, everything in it counts as work, its branch is not
integrated, no new loop begins in it, and a resume of its loop names the file.
`;

/** What is said about the records, by record and damage. */
export type RecordCells = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Returns whether a page has the paragraphs that explain its tables. */
export function isExplained(page: string): boolean {
  return page.startsWith(BEGIN) && page.includes(RECORDS_BEGIN);
}

/** Returns the page about what happened. */
export function pageOf(cells: readonly Cell[], records: RecordCells): string {
  const rows = [...new Set(cells.map(({ row }) => row))];
  const sections = rows.map((row) => section(row, cells));
  return `${[BEGIN.trimEnd(), ...sections, RECORDS_BEGIN.trimEnd(), recordTable(records)].join('\n\n')}\n`;
}

function recordTable(records: RecordCells): string {
  const names = Object.keys(RECORDS);
  const lines = damagesOf('record').map(
    (damage) => `| ${[damage, ...names.map((name) => records[name]?.[damage] ?? '')].join(' | ')} |`,
  );
  return `| | ${names.join(' | ')} |\n| --- | ${names.map(() => '---').join(' | ')} |\n${lines.join('\n')}`;
}

function section(row: string, cells: readonly Cell[]): string {
  const columns = Object.keys(COLUMNS);
  const lines = damagesOf(row).map((damage) => {
    const outcomes = columns.map((column) => {
      const found = cells.find((cell) => cell.row === row && cell.damage === damage && cell.column === column);
      if (found !== undefined) return told(row, found.outcome);
      const { drivenBy } = COLUMNS[column] ?? {};
      return cells.some((cell) => cell.row === row && cell.column === drivenBy) ? `as ${drivenBy}` : '–';
    });
    return `| ${[damage, ...outcomes].join(' | ')} |`;
  });
  const head = `| | ${columns.join(' | ')} |\n| --- | ${columns.map(() => '---').join(' | ')} |`;
  return `## ${row}: \`${fileOf(row)}\`\n\n${head}\n${lines.join('\n')}`;
}

/** Returns what the page says in the place of a cell. */
export function toldOn(page: string, { row, damage, column }: Cell): string | undefined {
  const table = page.split('\n## ').find((part) => part.startsWith(`${row}:`)) ?? '';
  const line = table.split('\n').find((each) => each.startsWith(`| ${damage} |`)) ?? '';
  return line.split(' | ')[Object.keys(COLUMNS).indexOf(column) + 1]?.replace(/ \|$/, '');
}

/** Shortens an outcome that names the row's own file. */
export function told(row: string, outcome: string): string {
  if (outcome === 'silent') return 'not noticed';
  const [, file, cause = ''] = /^pauses: (\S+) (.+)$/.exec(outcome) ?? [];
  const short = TEXTS[cause];
  if (short === undefined) return outcome;
  return file === fileOf(row) ? short : `${short} (\`${file}\`)`;
}
