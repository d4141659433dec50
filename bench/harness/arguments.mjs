import { parseArgs } from "node:util";

export const help = `Measures the gateway beside baselines in the same run. Compare the ratios: absolute figures depend on the machine.

  npm run bench -- [options]

  --quick             shorter rounds and fewer devices
  --only NAME,NAME    these rows or groups only; also those that a full run leaves out
  --list              names the groups and rows
  --json FILE         writes the report
  --markdown          rewrites docs/operations/performance.md; --markdown=FILE writes elsewhere
  --from FILE         measures nothing: reads a report that --json wrote
  --compare FILE      compares with an older report and marks changes beyond the noise
  --help`;

/** What the arguments ask for. Throws an Error whose message is for the user. */
export function readArguments(args, names) {
  const { markdownFile, rest } = takeMarkdown(args);
  const text = { type: "string" };
  const flag = { type: "boolean" };
  const { values } = parseArgs({
    args: rest,
    options: {
      quick: flag,
      only: { type: "string", multiple: true },
      list: flag,
      json: text,
      markdown: flag,
      from: text,
      compare: text,
      help: flag,
    },
  });
  const only = values.only?.flatMap((list) => list.split(",")).map((name) => name.trim());
  const unknown = only?.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Error(`--only: no row or group is called "${unknown}"; --list names them.`);
  return {
    quick: values.quick === true,
    only,
    list: values.list === true,
    json: values.json,
    markdown: markdownFile ?? (values.markdown === true ? "" : undefined),
    from: values.from,
    compare: values.compare,
    help: values.help === true,
  };
}

/** `--markdown` has an optional value, which parseArgs does not know. */
function takeMarkdown(args) {
  const given = args.find((each) => each.startsWith("--markdown="));
  return {
    markdownFile: given?.slice("--markdown=".length),
    rest: args.filter((each) => each !== given),
  };
}
