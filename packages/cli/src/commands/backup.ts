import path from "node:path";
import { backUp, loadConfig, restoreBackup } from "@tendon/gateway";
import { complain, print, printJson } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { dataFolderOf } from "../target.ts";

interface BackupOptions {
  readonly data?: string;
  readonly config?: string;
  readonly force?: boolean;
  readonly withoutDatabase?: boolean;
  readonly json?: boolean;
}

/** Reads the data folder itself, so that it works with a running gateway and with a stopped one. */
export async function backup(file: string, options: BackupOptions): Promise<void> {
  const { config } = loadConfig({
    file: options.config,
    searchIn: ["."],
    env: process.env,
    overrides: options.data === undefined ? {} : { data: options.data },
  });
  if (process.stderr.isTTY) complain(`Copying ${config.data} …`);
  const { manifest, size, leftOut } = await backUp({
    dataFolder: path.resolve(config.data),
    file,
    storage: config.storage,
    overwrite: options.force,
    withoutDatabase: options.withoutDatabase,
    now: new Date(),
  });
  if (options.json === true) {
    printJson({ file, size, ...manifest, leftOut });
    return;
  }
  print(`${file}: ${bytes(size)}, ${manifest.schema === null ? "no database" : `schema ${manifest.schema}`}`);
  for (const part of manifest.files) print(`  ${part.name.padEnd(20)} ${bytes(part.size)}`);
  if (leftOut.length > 0) print(`Left out, as Tendon does not know them: ${leftOut.join(", ")}`);
  print("It contains secrets of devices and tokens: protect it like a password.");
}

export async function restore(file: string, options: { data?: string; json?: boolean }): Promise<void> {
  const dataFolder = dataFolderOf(options);
  if (process.stderr.isTTY) complain(`Restoring into ${dataFolder} …`);
  const manifest = await restoreBackup(file, path.resolve(dataFolder));
  if (options.json === true) {
    printJson({ data: dataFolder, ...manifest });
    return;
  }
  print(`${dataFolder}: ${manifest.files.length} files of ${manifest.createdAt}, Tendon ${manifest.tendon}`);
  if (manifest.schema === null) print("The backup has no database: restore PostgreSQL with pg_restore.");
  print(`Start it with: ${ownCommand()} serve --data ${dataFolder}`);
}

function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  return count < 1024 ** 2 ? `${Math.round(count / 1024)} KB` : `${(count / 1024 ** 2).toFixed(1)} MB`;
}
