-- Example of a user's VHDL design that contains the decoder's wrapper. Counts the overlong forms in
-- a stream of bytes.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.utf8_decoder_types.all;

entity overlong_counter is
  port (
    clk, rst   : in  std_logic;
    data       : in  std_logic_vector(7 downto 0);
    data_valid : in  std_logic;
    data_ready : out std_logic;
    errors     : out std_logic_vector(7 downto 0)
  );
end entity;

architecture rtl of overlong_counter is
  signal token : utf8_decoder_output;
  signal valid : std_logic;
  signal count : unsigned(7 downto 0);
begin
  decoder : entity work.utf8_decoder_wrapper port map (
    clk           => clk,
    rst           => rst,
    s_axis.data   => data,
    s_axis.last   => '0',
    s_axis_tvalid => data_valid,
    s_axis_tready => data_ready,
    m_axis        => token,
    m_axis_tvalid => valid,
    m_axis_tready => '1'
  );

  process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        count <= (others => '0');
      elsif valid = '1' and token.kind = OVERLONG then
        count <= count + 1;
      end if;
    end if;
  end process;

  errors <= std_logic_vector(count);
end architecture;
