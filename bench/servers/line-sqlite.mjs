// The least a Node process can do to keep a line in SQLite before it answers: one transaction with one row.
import { DatabaseSync } from "@photostructure/sqlite";

const database = new DatabaseSync("lines.db");
database.exec(
  "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE IF NOT EXISTS lines (line TEXT)",
);
const insert = database.prepare("INSERT INTO lines VALUES (?)");
process.stdin.on("data", (chunk) => {
  insert.run(chunk.toString());
  process.stdout.write(chunk);
});
process.stdout.write("ready\n");
