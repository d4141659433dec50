/**
 * Backups of a data folder: a snapshot of the SQLite database and the files that must survive, in one file with a
 * manifest and a checksum of each part. The gateway may run meanwhile.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import fsp from "node:fs/promises";
import path from "node:path";
import { messageOf, StartError } from "../errors.ts";
import { version } from "../version.ts";
import { type ArchiveEntry, readArchive, writeArchive } from "./backup-archive.ts";
import { openSqliteFile, type SqliteDatabase } from "./sqlite-library.ts";

export interface BackupPart {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

export interface BackupManifest {
  readonly format: "tendon-backup";
  readonly formatVersion: number;
  /** The version of Tendon that made the backup. */
  readonly tendon: string;
  readonly createdAt: string;
  /** The version of the database's schema; `null` for a backup without the database. */
  readonly schema: number | null;
  readonly files: readonly BackupPart[];
}

export interface BackupOptions {
  readonly dataFolder: string;
  readonly file: string;
  /** The `storage` setting. */
  readonly storage: string;
  readonly overwrite?: boolean | undefined;
  /** Saves only the files of the folder. */
  readonly withoutDatabase?: boolean | undefined;
  readonly now: Date;
}

export interface Backup {
  readonly manifest: BackupManifest;
  readonly size: number;
  /** Files of the folder that are not in the backup, because Tendon does not know them. */
  readonly leftOut: readonly string[];
}

export const formatVersion = 1;
export const manifestName = "manifest.json";
export const databaseName = "tendon.db";
const savedFiles = [
  "tendon.yaml",
  "device-secret",
  "admin-token",
  "mcp-token",
  "node-id",
  "home.yaml",
  "home.json",
];
const imageFolder = "firmware";
const imageName = /^[\w-]+\.bin$/;
/** Belong to a running gateway, or are kept for an hour only. */
const transient =
  /^(tendon\.db(-wal|-shm)?|gateway\.(json|lock)(-journal)?|photos|firmware|.*\.\d+|.*\.part(\.db)?)$/;
const busyTimeoutMs = 10_000;

export function isPartName(name: string): boolean {
  const [folder, image = "", more] = name.split("/");
  if (name === databaseName || savedFiles.includes(name)) return true;
  return folder === imageFolder && imageName.test(image) && more === undefined;
}

export async function backUp(options: BackupOptions): Promise<Backup> {
  const { dataFolder, file, withoutDatabase = false, overwrite = false } = options;
  if (options.storage !== "sqlite:" && !withoutDatabase)
    throw new StartError(
      "The database is in PostgreSQL, which this command does not back up. Save it with `pg_dump --format=custom`, and " +
        "repeat this command with --without-database for the files of the data folder.",
    );
  if (!overwrite && fs.existsSync(file)) throw alreadyThere(file);
  if (!fs.existsSync(dataFolder)) throw new StartError(`The data folder ${dataFolder} does not exist.`);
  const draft = `${path.resolve(file)}.${process.pid}.part`;
  const snapshot = `${draft}.db`;
  try {
    const schema = withoutDatabase ? null : takeSnapshot(path.join(dataFolder, databaseName), snapshot);
    const places = new Map(schema === null ? [] : [[databaseName, snapshot]]);
    for (const name of presentFiles(dataFolder)) places.set(name, path.join(dataFolder, name));
    const files: BackupPart[] = [];
    for (const [name, place] of places) files.push({ name, ...(await digestOf(place)) });
    const createdAt = options.now.toISOString();
    const manifest: BackupManifest = {
      format: "tendon-backup",
      formatVersion,
      tendon: version,
      createdAt,
      schema,
      files,
    };
    await writeArchive(draft, entriesOf(manifest, places));
    await verify(draft, manifest);
    publish(draft, file, overwrite);
    return { manifest, size: fs.statSync(file).size, leftOut: unknownFiles(dataFolder) };
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`The backup ${file} could not be written (${messageOf(error)}).`);
  } finally {
    for (const each of [draft, snapshot]) fs.rmSync(each, { force: true });
  }
}

function alreadyThere(file: string): StartError {
  return new StartError(`${file} exists already. Choose another name, or overwrite it with --force.`);
}

/** A consistent copy, also while a gateway writes: SQLite copies one read transaction. Returns the schema's version. */
function takeSnapshot(from: string, to: string): number {
  if (!fs.existsSync(from))
    throw new StartError(
      `${from} does not exist: there is no database to back up. Choose another folder with --data, or, if the database is in PostgreSQL, save it with pg_dump and repeat this command with --without-database.`,
    );
  // Created here to set its mode.
  fs.closeSync(fs.openSync(to, "wx", 0o600));
  let database: SqliteDatabase | undefined;
  try {
    database = openSqliteFile(from);
    database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    database.exec(`vacuum into '${to.replaceAll("'", "''")}'`);
  } catch (error) {
    throw new StartError(`The database ${from} cannot be copied (${messageOf(error)}).`);
  } finally {
    database?.close();
  }
  return schemaOf(to);
}

/** Checks the file's structure and returns its schema's version. */
export function schemaOf(file: string): number {
  const database = openSqliteFile(file);
  try {
    const [check] = database.prepare("pragma quick_check(1)").all() as { readonly quick_check: string }[];
    if (check?.quick_check !== "ok") throw new StartError(`The database is damaged (${check?.quick_check}).`);
    const [row] = database.prepare("select max(version) as version from tendon_schema").all();
    return Number((row as { version: number | null }).version ?? 0);
  } finally {
    database.close();
  }
}

function presentFiles(dataFolder: string): string[] {
  const images = path.join(dataFolder, imageFolder);
  const found = fs.existsSync(images) ? fs.readdirSync(images).filter((name) => imageName.test(name)) : [];
  const files = savedFiles.filter((name) =>
    fs.statSync(path.join(dataFolder, name), { throwIfNoEntry: false })?.isFile(),
  );
  return [...files, ...found.sort().map((name) => `${imageFolder}/${name}`)];
}

function unknownFiles(dataFolder: string): string[] {
  return fs.readdirSync(dataFolder).filter((name) => !savedFiles.includes(name) && !transient.test(name));
}

async function digestOf(file: string): Promise<{ readonly size: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of fs.createReadStream(file)) {
    hash.update(chunk as Buffer);
    size += (chunk as Buffer).length;
  }
  return { size, sha256: hash.digest("hex") };
}

async function* entriesOf(
  manifest: BackupManifest,
  places: ReadonlyMap<string, string>,
): AsyncGenerator<ArchiveEntry> {
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  yield { name: manifestName, size: text.length, content: once(text) };
  for (const { name, size } of manifest.files)
    yield { name, size, content: fs.createReadStream(places.get(name) ?? name) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Reads the written file again: a backup that cannot be read is found now, and not when it is needed. */
async function verify(file: string, manifest: BackupManifest): Promise<void> {
  const expected = new Map(manifest.files.map(({ name, sha256 }) => [name, sha256]));
  await readArchive(file, async ({ name, content }) => {
    const hash = createHash("sha256");
    for await (const chunk of content) hash.update(chunk);
    if (name !== manifestName && hash.digest("hex") !== expected.get(name))
      throw new StartError(`${name} changed while it was read. Repeat the backup.`);
  });
}

/** A link never replaces a file that appeared meanwhile. A file system without links gets a check and a rename. */
function publish(draft: string, file: string, overwrite: boolean): void {
  if (!overwrite) {
    try {
      fs.linkSync(draft, file);
      return;
    } catch {
      if (fs.existsSync(file)) throw alreadyThere(file);
    }
  }
  fs.renameSync(draft, file);
}

/** What a path in a data folder needs to be private. */
export async function writePrivately(
  file: string,
  content: AsyncIterable<Uint8Array>,
): Promise<BackupPart["sha256"]> {
  await fsp.mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const hash = createHash("sha256");
  const opened = await fsp.open(file, "wx", 0o600);
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      await opened.writeFile(chunk);
    }
    await opened.sync();
  } finally {
    await opened.close();
  }
  return hash.digest("hex");
}
