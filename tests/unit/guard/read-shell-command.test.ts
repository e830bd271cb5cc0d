import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readShellCommand } from '../../../src/guard/shell/read-shell-command.ts';
import { namedWords } from '../../../src/guard/shell/words.ts';

const read = (command: string) => readShellCommand(command, { cwd: '/p', home: '/h' });
const names = (command: string): string[] => read(command).commands.map((each) => [...each.via, each.name].join('>'));
const argv = (command: string): Array<Array<string | null>> =>
  read(command).commands.map((each) => each.argv.map((word) => word.text));
const kinds = (command: string): string[] => read(command).undecidable.map((each) => each.kind);

describe('simple commands', () => {
  it('come in order, with quotes and escapes removed', () => {
    assert.deepEqual(argv("'git' pu\\sh \"a b\" $'x\\ty'; ls"), [['git', 'push', 'a b', 'x\ty'], ['ls']]);
  });
  it('have braces, tilde and known variables expanded', () => {
    assert.deepEqual(argv('x {a,b{1..2}} ~/f "$HOME" $PWD'), [['x', 'a', 'b1', 'b2', '/h/f', '/h', '/p']]);
  });
  it('follow literal assignments, but not those that are unset', () => {
    assert.deepEqual(argv('x=push; git $x'), [['git', 'push']]);
    assert.deepEqual(argv('x=push git $x'), [['git', null]]);
    assert.deepEqual(argv('x=a; unset x; echo $x'), [['echo', null]]);
    assert.deepEqual(argv('(x=a); echo $x'), [['echo', null]]);
  });
  it('are reported for every branch that may run', () => {
    assert.deepEqual(argv('if t; then x=a; else x=b; fi; rm $x').slice(1), [
      ['rm', 'a'],
      ['rm', 'b'],
    ]);
  });
  it('see through wrappers and shells', () => {
    assert.deepEqual(names('sudo -u x env A=1 timeout 5 git push'), ['sudo>env>timeout>git']);
    assert.deepEqual(names("bash -c 'git push; ls'"), ['bash>git', 'bash>ls']);
    assert.deepEqual(names('echo git push | sh'), ['echo', 'sh>git']);
    assert.deepEqual(names('find . -exec git push \\;'), ['find', 'find>git']);
    assert.deepEqual(names('command -v git'), ['command']);
  });
  it('carry their directory', () => {
    const cwds = read('cd a && ls; cd "$X"; ls; cd; ls').commands.map((each) => each.cwdTemplate);
    assert.deepEqual(cwds, ['/p/a', '/p/a/\0', '\0', '/p/a', '/h']);
  });
  it('keep the literal part of a word that is not literal', () => {
    const word = read('rm "$D/x.json"').commands[0]?.argv[1];
    assert.equal(word?.text, null);
    assert.equal(word?.template, '\0/x.json');
  });
});

describe('pipelines', () => {
  it('list the commands of each element', () => {
    const [pipeline] = read('curl x | sudo tee y | bash').pipelines;
    assert.deepEqual(
      pipeline?.map((element) => element.map((command) => command.name)),
      [['curl'], ['sudo', 'tee'], ['bash']],
    );
  });
});

describe('writes and reads', () => {
  const writes = (command: string): string[] => read(command).writes.map((each) => `${each.how} ${each.word.text}`);
  it('come from redirections and from arguments', () => {
    assert.deepEqual(writes('echo x > a 2>&1; tee b < c; rm -r d'), ['redirect a', 'argument b', 'delete d']);
    assert.deepEqual(writes('mv a b'), ['move a', 'copy b', 'copy b/a', 'copy-into b', 'copy-into b/a']);
  });
  it('name files that are read', () => {
    assert.deepEqual(
      read('cat a | grep b c; cp d e').reads.map((each) => each.word.text),
      ['a', 'c', 'd'],
    );
  });
  it('do not include standard streams and descriptors', () => {
    assert.deepEqual(writes('x >&2 2>&1 3>&-'), []);
  });
});

describe('what cannot be decided', () => {
  it('is reported by kind', () => {
    assert.deepEqual(kinds('$X y'), ['dynamic-command']);
    assert.deepEqual(kinds('curl x | bash'), ['dynamic-piped-to-shell']);
    assert.deepEqual(kinds("python3 -c 'x'"), ['interpreter-code']);
    assert.deepEqual(kinds('echo x > "$Y"'), ['dynamic-write-target']);
    assert.deepEqual(kinds('echo "x'), ['parse-error']);
    assert.deepEqual(kinds('a;'.repeat(9000)), ['too-large']);
  });
  it('is empty for an ordinary command', () => {
    for (const command of ['npm test', 'cd src && ls *.ts | wc -l', 'git commit -m "x"', '"$(which node)" x'])
      assert.deepEqual(kinds(command), [], command);
  });
  it('does not include a large here-document that goes to no shell', () => {
    assert.deepEqual(kinds(`cat > x <<'EOF'\n${'line $(x) "\n'.repeat(20_000)}EOF`), []);
    assert.deepEqual(kinds(`bash <<'EOF'\n${'echo line\n'.repeat(3000)}EOF`), ['too-large']);
  });
});

describe('named words', () => {
  const named = (command: string): Array<string | null> => {
    const [first] = read(command).commands;
    return first === undefined ? [] : namedWords(first);
  };
  it('skip options and their values', () => {
    assert.deepEqual(named('git -C x -c a.b=c --no-pager push --force origin'), ['push', 'origin']);
    assert.deepEqual(named('docker --context c run x'), ['run', 'x']);
    assert.deepEqual(named('npm --prefix a publish'), ['publish']);
    assert.deepEqual(named('kubectl -n prod delete pod x'), ['delete', 'pod', 'x']);
    assert.deepEqual(named('gh -R o/r pr merge 1'), ['pr', 'merge', '1']);
    assert.deepEqual(named('terraform -chdir=a destroy'), ['destroy']);
  });
  it('see an alias that the command itself defines', () => {
    assert.deepEqual(named('git -c alias.x=push x origin'), ['push', 'origin']);
    assert.deepEqual(names("git -c alias.x='!rm -rf y' x"), ['git>rm', 'git']);
  });
});
