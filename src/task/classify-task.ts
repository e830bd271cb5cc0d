/** What a task is about, as far as its words tell. */
export type DraftKind = 'analysis' | 'fix' | 'migration' | 'general';

/** What somebody asks for, in words that ask. The first of them in a text decides. */
const ASKS: readonly (readonly [DraftKind, RegExp])[] = [
  ['fix', /\b(?:fix|fixes|fixing|repair|repairing|debug|debugging|resolve|correct|heal|mend)\b/],
  ['migration', /\b(?:migrate|migrating|convert|converting|upgrade|upgrading|moderni[sz]e|transpile)\b/],
  [
    'migration',
    /(?<!\b(?:an?|the|this|that|its|which|open|serial) )\bport(?:ing)?\b(?! (?:is|number|of|\d)).*\b(?:to|from)\b/,
  ],
  ['migration', /\brewrit(?:e|ing)\b.*\b(?:in|from)\b|\b(?:replace|replacing)\b.*\b(?:with|by)\b/],
  ['migration', /\bswitch(?:ing)? (?:over )?to\b|\b(?:switch|switching|move|moving)\b.*\b(?:from\b.*\bto|away from)\b/],
  [
    'analysis',
    /\b(?:analy[sz]e|analy[sz]ing|audit|auditing|investigate|investigating|research|researching|review|reviewing|evaluate|assess|compare|summari[sz]e|explain|survey|study|examine|find out|report on)\b/,
  ],
  ['general', /\b(?:add|adding|implement|implementing|create|introduce|refactor|refactoring|support)\b/],
];

/** What a text only speaks of. It decides where nobody asks for anything. */
const SPEAKS_OF: readonly (readonly [DraftKind, RegExp])[] = [
  ['fix', /\b(?:bugs?|fail|fails|failed|failing|failures?|broken|flaky|crash|crashes|crashing|regressions?|errors?)\b/],
  ['migration', /\bmigrations?\b/],
  ['analysis', /\b(?:analysis|analyses|reports?|overview|assessment|evaluation|audits?|findings)\b/],
];

/** Only so much is read: a task says in its first sentences what it is. */
const READ = 2000;

/** Classifies a task by its own words; whole words count, so that "support" is no port. `general` where none tells. */
export function classifyTask(text: string): DraftKind {
  const words = text.slice(0, READ).toLowerCase().replace(/\s+/g, ' ');
  return firstOf(ASKS, words) ?? firstOf(SPEAKS_OF, words) ?? 'general';
}

function firstOf(kinds: typeof ASKS, words: string): DraftKind | null {
  let first: { readonly kind: DraftKind; readonly at: number } | null = null;
  for (const [kind, form] of kinds) {
    const at = words.search(form);
    if (at !== -1 && (first === null || at < first.at)) first = { kind, at };
  }
  return first?.kind ?? null;
}
