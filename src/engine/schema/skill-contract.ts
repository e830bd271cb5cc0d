import * as z from 'zod';
import { ONE_LINE } from '../../text/characters.ts';
import { planStatus } from './plan.ts';
import { proof } from './proof.ts';
import { count, instant } from './scalars.ts';

/** Input of the skill. All keys are optional (task file, project settings and defaults apply); unknown keys are ignored. */
export const skillInput = z.object({
  maxIterations: z.int().min(1).max(100).optional().describe('Iterations the agent gets; 25 without it.'),
  completionSignal: z
    .string()
    .regex(ONE_LINE)
    .optional()
    .describe('What the agent writes, alone on a line, when everything is done and checked.'),
  circuitBreakerThreshold: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe('Repeats of the same count of findings that stop the loop; 3 without it.'),
  task: z.string().regex(/\S/).optional().describe('A task file or a task folder; .claude/ralph/PROMPT.md without it.'),
  loop: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/)
    .optional()
    .describe('The name of the loop, where it is not the default one.'),
  args: z.record(z.string(), z.string()).optional().describe('Values for the arguments that a RALPH.md declares.'),
  tdd: z.boolean().optional().describe('Work test-first on the scenarios of ralph-loop tdd init.'),
  plan: z.boolean().optional().describe('The task is a plan, whose tasks are worked on one after the other.'),
  from: z.string().regex(/\S/).optional().describe('Of a plan: the task to begin from, such as "Task 5".'),
  maxTasks: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe('Of a plan: tasks done before it pauses for review; 5 without it.'),
  settings: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .optional()
    .describe('Further settings of the frontmatter by key path, such as "idle.delay": "10s".'),
});

const text = z.string();

/** Answers of the skill, by command. Each may have more keys. */
export const skillOutput = z.union([
  z.object({ active: z.literal(false), message: text }).describe('status: there is no loop.'),
  z
    .object({
      active: z.literal(true),
      iteration: count,
      startedAt: instant,
      lastRunAt: instant,
      lastFindingsCount: z.union([count, z.literal('unknown')]),
      promptExists: z.boolean(),
      guardrailsExists: z.boolean(),
    })
    .describe('status: the state of the loop.'),
  planStatus.describe('status of a plan: its tasks, and the next one.'),
  z.object({ success: z.literal(true), message: text }).describe('reset: the loop is in the archive.'),
  z
    .object({
      maxIterations: z.int().min(1).max(100),
      completionSignal: text.nullable(),
      stateFile: text,
      promptFile: text,
      guardrailsFile: text,
    })
    .describe('config: the settings that a loop would start with.'),
  z
    .object({
      active: z.literal(true),
      loop: text.nullable(),
      loopId: text,
      mode: text,
      status: text,
      iteration: count,
      maxIterations: count,
      taskPath: text,
      holder: z.object({ sessionId: text.nullable(), pid: count.nullable(), hold: text }),
      spawn: z.object({ spawn: count, iteration: count, agentType: text }).nullable(),
      message: text,
    })
    .describe('router status: the state of the loop, its driver, and the assigned work.'),
  z
    .object({
      action: z.literal('spawn'),
      iteration: count,
      prompt: z.string().min(1),
      agentType: z.string().min(1),
      allowedScope: z.array(text).nullable(),
    })
    .describe('router: assign this work to a subagent.'),
  z.object({ action: z.literal('wait'), why: text, message: text }).describe('router: nothing to do yet.'),
  z
    .object({
      action: z.literal('stop'),
      status: text,
      message: text,
      verified: z.boolean(),
      proof: proof.nullable().optional(),
    })
    .describe('router: the loop has ended, or another session drives it.'),
]);

export type SkillInput = z.infer<typeof skillInput>;
