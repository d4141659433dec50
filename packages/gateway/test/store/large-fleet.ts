import path from "node:path";
import { openSqliteFile } from "../../src/store/sqlite-library.ts";
import { placeMigratedFile } from "./migrated-file.ts";

/** Fills a data folder with devices that are offline: `board-00001`, `board-00002` and so on. */
export async function placeLargeFleet(dataFolder: string, count: number): Promise<void> {
  await placeMigratedFile(dataFolder);
  const database = openSqliteFile(path.join(dataFolder, "tendon.db"));
  database.exec(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO tendon_devices (id, kind, alias, alias_chosen, tags, board, approval, generation, created_at, last_seen_at)
     SELECT printf('02:00:00:%02x:%02x:%02x', i / 65536, i / 256 % 256, i % 256), 'esp32', printf('board-%05d', i), 1,
       CASE WHEN i <= 3 THEN '["floor-1"]' ELSE '[]' END, CASE WHEN i = 2 THEN '灯 2' ELSE 'esp-box-3' END, 'approved', 0, 1700000000000, 1700000000000 FROM n`,
  );
  database.close();
}
