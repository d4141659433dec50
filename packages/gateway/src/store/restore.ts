/** Restores a backup into an empty data folder. Until every part is checked, the folder has no file under its own name. */
import fs from "node:fs";
import path from "node:path";
import { messageOf, StartError } from "../errors.ts";
import {
  type BackupManifest,
  databaseName,
  formatVersion,
  isPartName,
  manifestName,
  schemaOf,
  writePrivately,
} from "./backup.ts";
import { type ArchiveEntry, ArchiveError, readArchive } from "./backup-archive.ts";
import { migrations } from "./migrations/migrations.ts";

const maxManifestBytes = 4 * 2 ** 20;

export async function restoreBackup(file: string, dataFolder: string): Promise<BackupManifest> {
  if (!fs.existsSync(file)) throw new StartError(`${file} does not exist.`);
  requireEmpty(dataFolder);
  const made = fs.mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  // Inside the folder, because a mounted folder cannot be replaced by another.
  const staging = path.join(dataFolder, `.restore-${process.pid}`);
  fs.mkdirSync(staging, { mode: 0o700 });
  try {
    const manifest = await unpack(file, staging);
    if (manifest.schema !== null) checkDatabase(file, path.join(staging, databaseName));
    for (const name of fs.readdirSync(staging))
      fs.renameSync(path.join(staging, name), path.join(dataFolder, name));
    fs.rmdirSync(staging);
    return manifest;
  } catch (error) {
    fs.rmSync(made ?? staging, { recursive: true, force: true });
    throw explained(error, file);
  }
}

function requireEmpty(folder: string): void {
  const found = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  if (found.length > 0)
    throw new StartError(
      `${folder} is not empty (it has ${found.slice(0, 3).join(", ")}${found.length > 3 ? ", …" : ""}). ` +
        "Restore into an empty or new folder, named with --data.",
    );
}

async function unpack(file: string, to: string): Promise<BackupManifest> {
  let manifest: BackupManifest | undefined;
  const seen = new Map<string, string>();
  await readArchive(file, async (entry) => {
    if (manifest === undefined) {
      manifest = await readManifest(entry, file);
      return;
    }
    const part = manifest.files[seen.size];
    if (part === undefined || part.name !== entry.name || part.size !== entry.size)
      throw new ArchiveError(`${entry.name} does not match the manifest`);
    const sha256 = await writePrivately(path.join(to, part.name), entry.content);
    if (sha256 !== part.sha256) throw new ArchiveError(`the checksum of ${part.name} differs`);
    seen.set(part.name, sha256);
  });
  if (manifest === undefined || seen.size !== manifest.files.length)
    throw new ArchiveError("parts that the manifest names are missing");
  return manifest;
}

async function readManifest({ name, size, content }: ArchiveEntry, file: string): Promise<BackupManifest> {
  if (name !== manifestName || size > maxManifestBytes) throw notABackup(file);
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  let manifest: BackupManifest;
  try {
    manifest = JSON.parse(Buffer.concat(parts).toString()) as BackupManifest;
  } catch {
    throw notABackup(file);
  }
  if (manifest.format !== "tendon-backup" || !Array.isArray(manifest.files)) throw notABackup(file);
  if (manifest.formatVersion > formatVersion || Number(manifest.schema) > migrations.length)
    throw tooNew(file, manifest);
  const wrong = manifest.files.find((part) => typeof part.name !== "string" || !isPartName(part.name));
  if (wrong !== undefined)
    throw new ArchiveError(`it has a file ${String(wrong.name)}, which backups do not have`);
  return manifest;
}

/** The manifest could be wrong about it, and the next start would migrate the database. */
function checkDatabase(file: string, database: string): void {
  const schema = schemaOf(database);
  if (schema > migrations.length) throw tooNew(file, { tendon: "unknown", schema });
}

function tooNew(file: string, { tendon, schema }: Pick<BackupManifest, "tendon" | "schema">): StartError {
  return new StartError(
    `${file} was made by a newer version of Tendon (${tendon}, schema ${schema}); this version supports schemas up to ` +
      `${migrations.length}. Restore it with that version or a newer one.`,
  );
}

function notABackup(file: string): StartError {
  return new StartError(`${file} is not a backup of Tendon.`);
}

function explained(error: unknown, file: string): StartError {
  if (error instanceof StartError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "Z_DATA_ERROR" && /header check/.test(messageOf(error))) return notABackup(file);
  const damaged = error instanceof ArchiveError || String(code).startsWith("Z_");
  if (!damaged) return new StartError(`${file} could not be restored (${messageOf(error)}).`);
  const reason = code === "Z_BUF_ERROR" ? "it ends too early" : messageOf(error);
  return new StartError(`${file} is damaged (${reason}). Nothing was restored; use another backup.`);
}
