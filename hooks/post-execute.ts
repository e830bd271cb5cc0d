import { validateInput } from '../src/drive/hook/validate-json.ts';
import { checkOutput } from '../src/task/skill-contract/schema-problems.ts';

validateInput('output', checkOutput);
