/** Files as other loops and specification tools write them, by path, with the loop's name here and its number of items. */
export const OTHER_LOOPS: Readonly<
  Record<string, { readonly path: string; readonly text: string; readonly name: string; readonly items: number }>
> = {
  ralphex: {
    path: 'docs/plans/add-search.md',
    text: `# Plan: Add search

## Validation Commands
- \`go test ./...\`

### Task 1: Add the index
- [ ] Write the index
- [ ] Test it

### Task 2: Add the page
- [x] Write the page
- [ ] Test it
`,
    name: 'add-search',
    items: 4,
  },
  'spec-kit': {
    path: 'specs/001-photo-albums/tasks.md',
    text: `# Tasks: Photo albums

## Phase 1: Setup

- [ ] T001 Create the project structure per implementation plan
- [ ] T002 [P] Configure linting in package.json

## Phase 2: User Story 1

- [ ] T003 [P] [US1] Create Album model in src/models/album.ts
`,
    name: '001-photo-albums',
    items: 3,
  },
  Kiro: {
    path: '.kiro/specs/login/tasks.md',
    text: `# Implementation Plan

- [x] 1. Set up the project
  - Create the folders
  - _Requirements: 1.1_
- [ ] 2. Implement the login
- [ ] 2.1 Create the form
  - _Requirements: 1.2, 2.1_
- [ ]* 2.2 Write unit tests
`,
    name: 'login',
    items: 4,
  },
  OpenSpec: {
    path: 'openspec/changes/add-2fa/tasks.md',
    text: `## 1. Database
- [ ] 1.1 Add the column
## 2. Backend
- [ ] 2.1 Add the endpoint
- [x] 2.2 Document it
`,
    name: 'add-2fa',
    items: 3,
  },
  'ralph-claude-code': {
    path: '.ralph/fix_plan.md',
    text: `# Ralph Fix Plan

## High Priority
- [ ] Set up the project
- [ ] Add the parser

## Completed
- [x] Project enabled for Ralph
`,
    name: 'fix_plan',
    items: 3,
  },
  'ralph-claude-code, older': {
    path: '@fix_plan.md',
    text: '# Ralph Fix Plan\n\n- [ ] Set up the project\n- [x] Project initialization\n',
    name: 'fix_plan',
    items: 2,
  },
  ralph: {
    path: 'prd.json',
    text: `${JSON.stringify(
      {
        project: 'MyApp',
        branchName: 'ralph/task-priority',
        description: 'Task Priority System',
        userStories: [
          { id: 'US-001', title: 'Add priority', acceptanceCriteria: ['Typecheck passes'], priority: 1, passes: false },
          { id: 'US-002', title: 'Show it', acceptanceCriteria: [], priority: 2, passes: true },
        ],
      },
      null,
      2,
    )}\n`,
    name: 'prd',
    items: 2,
  },
};
