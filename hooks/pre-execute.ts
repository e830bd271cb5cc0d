import { validateInput } from '../src/drive/hook/validate-json.ts';
import { checkInput, unknownKeys } from '../src/task/skill-contract/check-input.ts';

validateInput('input', checkInput, unknownKeys);
