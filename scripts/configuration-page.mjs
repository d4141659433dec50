// The page of settings, made from what the gateway itself knows of them. `node scripts/docs.mjs` writes it, and a test
// says when it has not been written again.

const intro = `# Configuration

<!-- Made by \`npm run docs\` from packages/gateway/src/config/schema.ts. Change the words there. -->

\`tendon.yaml\` is looked for in the working folder, then in the data folder; \`--config FILE\` names another. Every setting can also come from the
environment, under the name in the second column, which wins over the file; flags win over both. Lists and maps are given there as JSON. An empty file
is fine. An unknown key or a wrong value stops the start and names the line:

<!-- file: wrong.yaml -->
\`\`\`yaml
http:
  prot: 8080
\`\`\`

\`\`\`console
$ npx tendon config check --config wrong.yaml
tendon: The configuration is not valid:
  wrong.yaml:2: unknown setting \`http.prot\`; did you mean \`port\`?
\`\`\`

\`tendon config check\` says whether the gateway would start with the settings (all that can be known without starting it, certificates and other files included), \`tendon config show\` what they come to, with secrets hidden. \`tendon doctor\` looks at
what they mean for devices.
`;

const outro = `## Beside the settings

\`TENDON_TOKEN\` (16 characters or more) is the admin token of a run; it is never stored or printed. Without it the first start makes one in
\`DATA/admin-token\`, readable by its owner only, and prints it, to a terminal alone. \`TENDON_URL\`, \`TENDON_TOKEN\` and \`TENDON_DATA\` point the other commands at a gateway. A folder's own tokens
are shown to the gateway that runs on it and to nobody else: for an address of your own say the token too.

The data folder (\`data\`) also has \`device-secret\`, from which the credentials of devices are made, \`node-id\`, what this gateway is called
among others, and \`tendon.db\`, unless \`storage\` says otherwise. Keep the whole folder. A secret of fewer than 16 characters there, or an
empty \`device-secret\` with devices that were let in by it, stops the start; one that is empty because a first start was interrupted is made anew.

## As a library

\`\`\`js
import { startTendon } from "@tendon/gateway";

const tendon = await startTendon({ http: { port: 0 }, mqtt: { port: 0 }, data: "./test-data", devices: { admission: "open" } });
console.log(tendon.url);
await tendon.stop();
\`\`\`

\`startTendon\` takes the same settings as an object and looks at neither the file nor the environment.
`;

/** The whole page. */
export function configurationPage(settings) {
  const sections = new Map();
  for (const setting of settings) {
    const section = setting.name.includes(".")
      ? `\`${setting.name.split(".")[0]}\``
      : "What is kept, and where";
    sections.set(section, [...(sections.get(section) ?? []), setting]);
  }
  const tables = [...sections].map(([section, rows]) => `## ${section}\n\n${table(rows)}${entries(rows)}`);
  return [intro, ...tables, outro].join("\n");
}

function table(rows) {
  const lines = rows.map(
    (row) =>
      `| \`${row.name}\` | ${row.variable === undefined ? "" : `\`${row.variable}\``} | ${defaultOf(row)} | ${meaning(row, choicesOf(row))} |`,
  );
  return `| setting | variable | default | what it does |\n|---|---|---|---|\n${lines.join("\n")}\n`;
}

/** What each entry of a list may have. */
function entries(rows) {
  return rows
    .filter(({ fields }) => fields.length > 0)
    .map(({ name, fields }) => {
      const lines = fields.map((field) => `| \`${field.name}\` | ${cell(field.type)} | ${meaning(field)} |`);
      return `\nEach entry of \`${name}\`:\n\n| key | | what it says |\n|---|---|---|\n${lines.join("\n")}\n`;
    })
    .join("");
}

function defaultOf({ default: value, unset }) {
  if (unset !== undefined) return cell(unset);
  if (value === undefined) return "";
  if (typeof value === "string") return `\`${value}\``;
  return Array.isArray(value) && value.length === 0 ? "none" : `\`${JSON.stringify(value)}\``;
}

function meaning({ description, page }, choices = "") {
  // A name in capitals keeps them.
  const words = description.replace(/^[A-Z](?=[a-z\s])/, (letter) => letter.toLowerCase());
  const more = page === undefined ? "" : `, see ${linkTo(page)}`;
  return cell(`${words}${choices}${more}`);
}

/** The page is named from docs/; the link leads from docs/reference/. */
function linkTo(page) {
  const [folder, file] = page.split("/");
  return `[${file}](${folder === "reference" ? file : `../${page}`})`;
}

/** The words that may be chosen, where the sentence does not have them. */
function choicesOf({ type, description }) {
  const choices = type.split(", ");
  const told = choices.length === 1 || choices.every((choice) => description.includes(`\`${choice}\``));
  return told || type === "true, false" ? "" : `: ${choices.map((choice) => `\`${choice}\``).join(", ")}`;
}

/** A bar would end the cell. */
function cell(text) {
  return text.replaceAll("|", "\\|");
}
