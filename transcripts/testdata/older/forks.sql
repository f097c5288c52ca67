CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, data text);
INSERT INTO session VALUES ('ses_1', NULL, '/home/u/shop', 'A title', 1000, 2000), ('ses_2', NULL, '/home/u/shop', 'A title (fork #1)', 3000, 5000);
INSERT INTO message VALUES
  ('msg_1', 'ses_1', 1100, '{"role":"user","time":{"created":1100}}'),
  ('msg_2', 'ses_1', 1200, '{"role":"assistant","time":{"created":1200,"completed":1300},"finish":"stop","cost":0.5,"tokens":{"input":100,"output":10,"cache":{"read":0,"write":0}}}'),
  ('msg_3', 'ses_2', 1100, '{"role":"user","time":{"created":1100}}'),
  ('msg_4', 'ses_2', 1200, '{"role":"assistant","time":{"created":1200,"completed":1300},"finish":"stop","cost":0.5,"tokens":{"input":100,"output":10,"cache":{"read":0,"write":0}}}'),
  ('msg_5', 'ses_2', 4000, '{"role":"user","time":{"created":4000}}'),
  ('msg_6', 'ses_2', 4100, '{"role":"assistant","time":{"created":4100,"completed":4200},"finish":"stop","cost":0.75,"tokens":{"input":200,"output":20,"cache":{"read":0,"write":0}}}');
INSERT INTO part VALUES ('prt_1', 'msg_1', '{"type":"text","text":"ORIGINAL"}'), ('prt_2', 'msg_2', '{"type":"text","text":"one"}'),
  ('prt_3', 'msg_3', '{"type":"text","text":"ORIGINAL"}'), ('prt_4', 'msg_4', '{"type":"text","text":"one"}'),
  ('prt_5', 'msg_5', '{"type":"text","text":"FORK"}'), ('prt_6', 'msg_6', '{"type":"text","text":"two"}');
