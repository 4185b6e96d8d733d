// Nothing: the headers that all tests share are precompiled for the target this file makes up.
